"""Claims of the user's own, judged beside those of the works, and what runs again after what."""

import xarray as xr

CLAIM = """
from rllc.claims import claim, fall


@claim("Layer 0 ends below its peak", source="mine", label="fall of its mean rLLC", at_least={bound},
       experiment="language")
def layer0_falls(run):
    heads = run.curve("rllc.rllc", heads=run.heads(layer=0), distribution=run.text)
    return fall(heads.mean("head"))
"""
OVERLAY = "claims: [heads, my_claims.py]\n"
TABLE = "results/ci/claims.nc"


def test_own_claim_is_judged_beside_the_papers_and_again_when_its_file_changes(checkout, rules):
    checkout.write("my_claims.py", CLAIM.format(bound=0.05))
    overlay = checkout.write("config/mine.yaml", OVERLAY)
    assert rules(checkout.plan(TABLE, overlays=(overlay,))) == {"judge"}
    checkout.snakemake(overlay, "--", TABLE)
    with xr.open_dataset(checkout.root / TABLE) as claims:
        mine = claims.sel(claim="layer0_falls").load()
        assert "types_level" in claims["claim"].values
    with xr.open_dataset(checkout.root / "results/ci/language/rllc.nc") as data:
        curve = data["rllc"].isel(seed=0).sel(distribution="mixture", head=["0:0", "0:1"]).mean("head")
        expected = float(1 - curve[-1] / curve.max())
    assert mine["work"].item() == "my_claims.py" and abs(mine["value"].item() - expected) < 1e-9
    assert checkout.plan(TABLE, overlays=(overlay,)) == []
    checkout.write("my_claims.py", CLAIM.format(bound=0.5))
    assert rules(checkout.plan(TABLE, overlays=(overlay,))) == {"judge"}
    assert [file.name for file in checkout.root.glob("my_claims*")] == ["my_claims.py"]


def test_own_file_that_cannot_be_used_is_refused_before_any_job(fresh):
    checkout = fresh()
    checkout.write("my_claims.py", "import nothing_of_this_name\n")
    overlay = checkout.write("config/mine.yaml", OVERLAY)
    done = checkout.snakemake(overlay, "-n", check=False)
    said = done.stdout + done.stderr
    assert done.returncode and "my_claims.py" in said and "nothing_of_this_name" in said
    assert "Traceback" not in said and not (checkout.root / "results").exists()


def test_other_works_judge_alone_and_an_edited_claim_makes_the_table_again(checkout, rules):
    checkout.edit("src/rllc/claims/heads/types.py", "at_least=0.5,", "at_least=0.6,")
    again = rules(checkout.plan())
    assert "judge" in again and again <= {"judge", "claims_page", "draw"}
