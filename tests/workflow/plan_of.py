"""Which jobs would run. Reads [checkout, overlays, targets] as JSON, a line each, and answers with such lines.

Every plan is made in a process of its own, a fork of this one: they share nothing but the import of Snakemake.
"""

import json
import os
import signal
import sys
from pathlib import Path

from snakemake import api  # noqa: F401
from snakemake.scheduling import job_scheduler  # noqa: F401


def plan(checkout: str, overlays: list[str], targets: list[str]) -> list[tuple[str, dict[str, str]]]:
    os.chdir(checkout)
    sys.path.insert(0, str(Path("src").resolve()))
    from rllc.run.dag import dag

    with dag(overlays, targets) as planned:
        jobs = planned.needrun_jobs(exclude_finished=False)
        return sorted(((job.rule.name, dict(job.wildcards_dict)) for job in jobs), key=str)


if __name__ == "__main__":
    for line in sys.stdin:
        if not os.fork():
            signal.alarm(120)
            print("PLAN " + json.dumps(plan(*json.loads(line))), flush=True)
            os._exit(0)
        os.wait()
        print("END", flush=True)
