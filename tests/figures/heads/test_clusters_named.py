"""The heads of each cluster above its panel."""

import numpy as np
import xarray as xr


def test_a_bar_above_a_panel_stands_before_its_cluster_on_the_same_line():
    from matplotlib.figure import Figure

    from rllc.figures.heads.clusters_named import LINE, name_clusters, title_look

    heads = [f"{layer}:{n}" for layer in range(4) for n in range(8)]
    for size in range(1, 9):
        clusters = xr.DataArray(np.arange(32) // size, {"head": heads}, ["head"])
        figure = Figure(figsize=(2.3, 1.9))
        ax = figure.subplots()
        name_clusters(ax, cluster=clusters, note="", width=2.3, look=title_look([clusters], width=2.3))
        lines = {}
        for text in ax.texts:
            lines.setdefault(text.xyann[1], []).append(text.get_text())
        assert len(lines) > 1 and title_look([clusters], width=2.3)["pad"] >= LINE * len(lines)
        words = [word for y in sorted(lines, reverse=True) for word in lines[y]]
        barred = [["|", head] if n and n % size == 0 else [head] for n, head in enumerate(heads)]
        assert words == [word for each in barred for word in each]
        assert all(row[-1] != "|" for row in lines.values())
