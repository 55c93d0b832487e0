"""Interleave the documents of several distributions in given shares of characters."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from rllc.seeds import generator
from rllc.tasks.arrow import with_manifest
from rllc.tasks.language.documents import SCHEMA, manifest

log = logging.getLogger("rllc")
# pyarrow creates the functions of this module at import, so type checkers do not know them.
pc: Any = pyarrow.compute


def mix(tables: Mapping[str, pa.Table], weights: Mapping[str, float], *, seed: int) -> pa.Table:
    """Return a mixture of ``tables`` in which each has its weight in characters, and no document repeats.

    The mixture has ``min over parts of (characters of the part / its weight)`` characters. The scarcest part
    for its weight (``limited_by`` in the manifest) is used in full; the others contribute a random choice of
    documents. Training and held-out documents follow this rule separately, up to half a document per part. A
    document in several parts counts for the first one. Rows are interleaved so that every stretch has about
    these shares; held-out rows follow the training rows.

    tables   tables of documents (documents.collect), by name
    weights  the share of each, above 0, summing to 1
    seed     seed of the choice and order of documents

    Returns the columns of the tables and ``part``, the name of a document's table.

    Raises ValueError where the names of weights and tables differ, a weight is not above 0, or the weights
    do not sum to 1.
    """
    _check(tables, weights)
    parts = _distinct(tables, weights)
    sides = {
        side: _interleave(
            {name: table.filter(pc.equal(table["held_out"], held_out)) for name, table in parts.items()},
            weights,
            (seed, side),
        )
        for side, held_out in (("training", False), ("held_out", True))
    }
    mixed = pa.concat_tables([table for table, _ in sides.values()]).combine_chunks()
    about = {f"{side}_shares": shares for side, (_, shares) in sides.items()}
    return with_manifest(mixed, manifest(mixed, weights=dict(weights), seed=seed, **about))


def _check(tables: Mapping[str, pa.Table], weights: Mapping[str, float]) -> None:
    if set(tables) != set(weights):
        raise ValueError(
            f"weights are given for {sorted(weights)}, tables for {sorted(tables)}: expected the same names"
        )
    wrong = {name: weight for name, weight in weights.items() if not weight > 0}
    if wrong:
        raise ValueError(f"weights must be above 0, but {wrong}: remove the parts without a share")
    if abs(sum(weights.values()) - 1) > 1e-6:
        raise ValueError(f"weights sum to {sum(weights.values()):g}; expected shares that sum to 1")


def _distinct(tables: Mapping[str, pa.Table], weights: Mapping[str, float]) -> dict[str, pa.Table]:
    seen: set[str] = set()
    parts = {}
    for name in weights:
        hashes = tables[name]["sha256"].to_pylist()
        new = pa.array([sha256 not in seen for sha256 in hashes], pa.bool_())
        table = tables[name].select(SCHEMA.names).filter(new)
        if shared := tables[name]["name"].filter(pc.invert(new)).to_pylist():
            log.info(
                "documents of %r that are also in a part before it, and count for that: %d, such as %r",
                name, len(shared), shared[0],
            )  # fmt: skip
        parts[name] = table.append_column("part", pa.array([name] * table.num_rows, pa.string()))
        seen.update(hashes)
    return parts


def _interleave(
    parts: Mapping[str, pa.Table], weights: Mapping[str, float], stream: tuple[int, str]
) -> tuple[pa.Table, dict[str, object]]:
    sizes = {name: pc.utf8_length(table["text"]).to_numpy() for name, table in parts.items()}
    available = {name: int(size.sum()) for name, size in sizes.items()}
    limiting = min(weights, key=lambda name: available[name] / weights[name])
    total = available[limiting] / weights[limiting]
    if total == 0:
        raise ValueError(
            f"part {limiting!r} of the mixture has no {stream[1]} text besides earlier parts: add text"
        )
    chosen, progress, used = [], [], {}
    for name, weight in weights.items():
        order = generator(stream[0], "mixture", stream[1], name).permutation(len(sizes[name]))
        size = sizes[name][order]
        middle = (np.cumsum(size) - size / 2) / (weight * total)  # position in its part
        kept = order[middle < 1]
        chosen.append(parts[name].take(pa.array(kept)))
        progress.append(middle[middle < 1])
        used[name] = int(sizes[name][kept].sum())
    everything = pa.concat_tables(chosen)
    order = np.argsort(np.concatenate(progress), kind="stable")
    characters = sum(used.values())
    shares = {
        "limited_by": limiting,
        "characters": used,
        "unused_characters": {name: available[name] - used[name] for name in used},
        "share": {name: round(count / characters, 6) for name, count in used.items()},
    }
    return everything.take(pa.array(order)), shares
