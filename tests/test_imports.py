"""Imports of the package: one way, without cycles."""

import grimp
import networkx


def test_no_modules_import_each_other_in_a_circle_not_even_for_types():
    graph = grimp.build_graph("rllc", exclude_type_checking_imports=False, cache_dir=None)
    arrows = networkx.DiGraph()
    for module in graph.modules - {"rllc"}:  # whose public names are imported when they are used
        arrows.add_edges_from((module, other) for other in graph.find_modules_directly_imported_by(module))
    circles = [sorted(each) for each in networkx.strongly_connected_components(arrows) if len(each) > 1]
    assert circles == []
