"""Local files of tokenizers and data sets, which are inputs of the rules that read them."""

from rllc.study.distributions import Hub, TextTokens
from rllc.study.inputs import as_input
from rllc.study.tokenizer_files import local_path, tokenizer_json


def tokenizer_files(tokens: TextTokens) -> list[str]:
    """Return the local tokenizer.json of a tokenizer; none if it comes from the hub or is trained here.

    Raises ValueError if a path has no tokenizer.json.
    """
    file = tokenizer_json(tokens.pretrained) if tokens.pretrained else None
    return [as_input(file)] if file else []


def data_set_files(entry: Hub) -> list[str]:
    """Return the files of a local data set without hidden ones; none if it comes from the hub.

    Raises ValueError if a path is not a folder with files.
    """
    path = local_path(entry.name)
    if path is None:
        return []
    if path.is_file():
        raise ValueError(
            f"{entry.name} is a file: give the folder it is in, or read it by the source `files`"
        )
    files = [file for file in path.rglob("*") if file.is_file()]
    hidden = {file for file in files if any(part[0] == "." for part in file.relative_to(path).parts)}
    if not set(files) - hidden:
        raise ValueError(f"{entry.name} is neither a name of the hub nor a folder with files ({path.cwd()})")
    return sorted(as_input(file) for file in files if file not in hidden)
