"""Claims on stages are not judged where the chains of the LLC do not settle."""

import pytest
import xarray as xr
from tests.claims.stages.small import N, boundaries, curves, run

from rllc.analysis.curves import NotJudged
from rllc.claims.settled import require_settled
from rllc.claims.stages import boundaries as boundaries_claims
from rllc.quality import MASKS


def of_faults(count, name="not_mixed"):
    llc = curves(llc=[1.0] * N)
    quality = xr.zeros_like(llc["llc"]).astype(int)
    return llc.assign(quality=quality.where(llc["step"] >= llc["step"][count], MASKS[name]))


@pytest.mark.parametrize("setting", ["published", "sampling"])
def test_more_than_half_of_the_estimates_with_a_fault_are_not_judged(setting):
    name = "llc" if setting == "sampling" else f"llc__{setting}"
    stages = boundaries([setting, f"{setting}_prior_only"], any=[1, 3])
    told = run(setting, stages=stages, **{name: of_faults(N // 2 + 1)})
    with pytest.raises(NotJudged, match="do not settle at this setting: 60%"):
        boundaries_claims.stages(told)
    with pytest.raises(NotJudged, match="do not settle"):
        boundaries_claims.published_rule(told)
    assert float(boundaries_claims.stages_control(told)) == 0
    assert float(boundaries_claims.stages(run(setting, stages=stages, **{name: of_faults(N // 2)}))) == 2


def test_cautions_missing_flags_and_missing_estimates_do_not_count():
    require_settled(run(llc__published=of_faults(N - 1, "prior_dominated")), "published")
    require_settled(run(llc__published=curves(llc=[1.0] * N)), "published")
    require_settled(run(), "published")
    faulty = of_faults(N // 2 + 1)
    unsampled = faulty.assign(llc=faulty["llc"].where(faulty["step"] >= faulty["step"][2]))
    require_settled(run(llc__published=unsampled), "published")
