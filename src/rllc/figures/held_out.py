"""How much held-out text is under a figure: what of one's own was read, and where there is little of any."""

import json

import xarray as xr

from rllc.figures.inputs import distribution_labels

OWN = ("files", "hub")  # sources of text that is the user's to enlarge


def text(source: xr.Dataset, drawn: xr.Dataset) -> str:
    """A sentence for each distribution drawn of one's own text, or with fewer contexts than are drawn.

    source  a dataset of estimates: its setting, and in ``inputs`` what its distributions hold
    drawn   what of it is drawn
    """
    if "distribution" not in drawn.coords:
        return ""
    setting, inputs = (json.loads(source.attrs.get(name, "{}")) for name in ("sampling", "inputs"))
    count = setting.get("draws", 0) * setting.get("thinning", 1) * setting.get("batch_size", 0)
    sentences = []
    for name, label in distribution_labels(drawn).items():
        held = inputs.get(name, {}).get("held_out", {})
        few = "documents" in held and held["contexts"] < count
        if few or held.get("source") in OWN:
            warning = f"; few, since each chain draws {count:,}" if few else ""
            sentences.append(
                f"{label}: documents {held['read']:,}, held out and used {held['documents']:,} "
                f"({held['tokens']:,} tokens, different contexts {held['contexts']:,}{warning})."
            )
    return " ".join(sentences)
