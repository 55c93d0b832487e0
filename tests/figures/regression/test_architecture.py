"""The drawing of the architecture."""

from tests.figures.regression.small import drawn_by


def test_the_architecture_has_the_counts_of_the_model(study, drawn):
    """By hand, of 2 layers and 2 heads of 4, width 8, 16 vectors of 5."""
    drawing = drawn("stage_figD2")
    boxes = {"token and position embedding, 5 → 8": 168, "attention, 2 heads": 256, "MLP, ReLU": 144,
             "layer norm": 16, "unembedding, 8 → 5": 45}  # fmt: skip
    shown = [text.get_text() for ax in drawing.figure.axes for text in ax.texts]
    assert {text for text in shown if ": " in text and "component" not in text} == {
        f"{words}: {count}" for words, count in boxes.items()
    }
    counts = {
        "model": 1093,
        "embedding": 168,
        "layer norm": 80,
        "attention": 512,
        "MLP": 288,
        "unembedding": 45,
    }
    for (name, count), each in zip(counts.items(), drawing.findings, strict=True):
        assert name in each.label and each.value == count
    assert sum("input again" in text for text in shown) == 2
    plain = study["structure"].assign(residual_factor=study["structure"]["residual_factor"] * 0 + 1)
    shown = [
        text.get_text()
        for ax in drawn_by("stage_figD2")({"structure": plain}).figure.axes
        for text in ax.texts
    ]
    assert not any("input again" in text for text in shown)
