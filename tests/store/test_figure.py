"""What is drawn as a file: flags are described by CF, values or bits and never both."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from rllc.figures.drawing import Drawing, Finding
from rllc.quality import MASKS
from rllc.store.figure import Files, write_figure
from rllc.vocabulary import STATUS


def test_flags_have_values_or_masks_of_their_own_kind_and_type(tmp_path):
    """Arithmetic hands attributes on: a quality that came from statuses has those of both."""
    both = {"flag_values": np.arange(4, dtype=np.int8), "flag_masks": np.int32(1), "limit_rhat": 1.2}
    drawn = xr.Dataset(
        {
            "status": ("step", np.zeros(2, np.int8), both),
            "quality_long": ("step", np.zeros(2, np.int32), both),
            "quality": ("claim", np.asarray(["holds"], dtype=object)),
            "status_share": ("step", np.zeros(2), {"units": "1"}),
        }
    )
    files = Files(*(tmp_path / f"a.{suffix}" for suffix in ("png", "pdf", "nc", "txt")))
    write_figure(Drawing(Figure(), drawn, "A caption."), files, {})
    with xr.open_dataset(files.data) as found:
        status, quality = found["status"].attrs, found["quality_long"].attrs
        assert "flag_masks" not in status and "flag_values" not in quality
        assert status["flag_values"].dtype == found["status"].dtype
        assert status["flag_meanings"].split() == list(STATUS)
        assert quality["flag_masks"].dtype == found["quality_long"].dtype
        assert quality["flag_meanings"].split() == list(MASKS) and quality["limit_rhat"] == 1.2
        for name in ("quality", "status_share"):
            assert set(found[name].attrs) == {"long_name", "units"}
    assert drawn["status"].attrs == both


def test_findings_are_in_the_file_with_error_and_unit(tmp_path):
    found = [Finding("fall of head 0:2", 16.2, 1.4, "%"), Finding("peak", 700, unit="steps")]
    drawn = xr.Dataset({"llc": ("step", [1.0, 2.0], {"units": "1"})}, {"step": [0, 10]})
    files = Files(*(tmp_path / f"a.{suffix}" for suffix in ("png", "pdf", "nc", "txt")))
    write_figure(Drawing(Figure(), drawn, "A title.", found, ["Seed 0."]), files, {"code": "x"})
    with xr.open_dataset(files.data) as written:
        assert written["finding"].values.tolist() == ["fall of head 0:2", "peak"]
        assert written["finding_value"].dims == ("finding",)
        np.testing.assert_array_equal(written["finding_value"], [16.2, 700])
        np.testing.assert_array_equal(written["finding_error"], [1.4, np.nan])
        assert written["finding_unit"].values.tolist() == ["%", "steps"]
        xr.testing.assert_equal(written["llc"].drop_attrs(), drawn["llc"].drop_attrs())
        assert (
            written.attrs["caption"]
            == "A title.\n- fall of head 0:2: 16.2 ± 1.4 %\n- peak: 700 steps\nSeed 0."
        )
        assert written.attrs["code"] == "x"
    assert files.caption.read_text() == written.attrs["caption"] + "\n"


def test_a_drawing_without_findings_has_none_in_the_file(tmp_path):
    files = Files(*(tmp_path / f"a.{suffix}" for suffix in ("png", "pdf", "nc", "txt")))
    write_figure(Drawing(Figure(), xr.Dataset({"a": 1.0}), "A title."), files, {})
    with xr.open_dataset(files.data) as written:
        assert "finding" not in written.dims and [*written.data_vars] == ["a"]
