"""The files of the folder config, and their table in its README."""

import re
from pathlib import Path

CONFIG = Path(__file__).parents[2] / "config"


def test_every_file_of_the_config_is_in_the_table_of_its_readme():
    text = (CONFIG / "README.md").read_text(encoding="utf-8")
    table = text.partition("| file | scale |")[2].partition("\n\n")[0]
    names = " ".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| `"))
    assert set(re.findall(r"`(\w+\.yaml)`", names)) == {file.name for file in CONFIG.glob("*.yaml")}
