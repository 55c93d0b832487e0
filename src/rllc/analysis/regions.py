"""How many contiguous regions heads divide an ordered vocabulary into."""

from collections.abc import Sequence


def regions(diagonal: Sequence[Sequence[float]], *, shortest: int) -> int:
    """Number of runs of the best assignment of tokens to heads in runs of at least ``shortest`` tokens.

    diagonal  ov[t, t] of every head at every token, [token][head]; the assignment maximises its sum

    Exact, by dynamic programming: ``best[h]`` is the largest sum up to a token at which a run of head h may
    end, and minus its number of runs, so that of equal sums the one of fewest runs is taken. Fewer tokens
    than ``shortest`` are one run; with ``shortest`` = 1 each token has its largest head.
    """
    heads = range(len(diagonal[0]))
    total = [[0.0] * len(heads)]
    for row in diagonal:
        total.append([so_far + entry for so_far, entry in zip(total[-1], row, strict=True)])
    never = (float("-inf"), 0)
    best: list[list[tuple[float, int]]] = [[never] * len(heads) for _ in total]
    for end in range(shortest, len(total)):
        start = end - shortest
        for head in heads:
            new = (0.0, 0) if start == 0 else max((best[start][g] for g in heads if g != head), default=never)
            begun = (new[0] + total[end][head] - total[start][head], new[1] - 1)
            longer = best[end - 1][head]
            best[end][head] = max(begun, (longer[0] + diagonal[end - 1][head], longer[1]))
    return max(1, -max(best[-1])[1])
