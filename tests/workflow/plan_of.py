"""Which jobs would run: prints them as JSON. Usage: plan_of.py CONFIG_OVERLAY [TARGET ...]; from a checkout."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path("src").resolve()))
from rllc.run.dag import dag

if __name__ == "__main__":
    with dag(sys.argv[1].split(","), sys.argv[2:]) as planned:
        jobs = planned.needrun_jobs(exclude_finished=False)
        plan = sorted(([job.rule.name, dict(job.wildcards_dict)] for job in jobs), key=str)
    print("PLAN " + json.dumps(plan))
