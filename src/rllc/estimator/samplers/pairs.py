"""Antithetic pairs: the prior-only control's mean without its chains.

Without the gradient a chain is an autoregression with a known distribution. After t moves its position is
N(w*, s_t^2) in every coordinate, with a = 1 - step_size localization / 2 and

    s_t^2 = step_size (1 - a^(2t)) / (1 - a^2)          (step_size t without localization)

So the mean rise of the loss needs independent z ~ N(0, I) and two forward passes for each z, but no chain::

    E off_t = E[(L_b(w* + s_t z) + L_b(w* - s_t z)) / 2 - L_b(w*)]

All odd terms of the loss cancel in every pair, in particular the slope where w* is not a minimum.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rllc.estimator.diagnostics.acceptance import variance_off
from rllc.sampler_config import SamplerConfig
from rllc.seeds import derive

# batch -> (the data that ``Losses`` needs, the loss at the centre)
Look = Callable[[Any], tuple[Any, Tensor]]
# (component, positions [chain, n], the data from ``Look``) -> losses [chain]
Losses = Callable[[str, Tensor, Any], Tensor]


class Pairs(NamedTuple):
    """Rises of the loss, in groups. The pairs of a group share their draw and their minibatch.

    rise      [component, group, pair]: mean loss of the pair minus the loss at the centre. Every kept draw
              has the same number of groups
    variance  [group]: s_t^2 of the draw
    """

    rise: np.ndarray
    variance: np.ndarray


def rises(
    centers: Mapping[str, Tensor],
    batches: Sequence[Any],
    *,
    look: Look,
    losses: Losses,
    setting: SamplerConfig,
    further: Sequence[Any] | None = None,
) -> Pairs:
    """Return ``setting.antithetic_pairs`` pairs of every component for each kept draw.

    centers  component -> its coordinates at w* [n]
    batches  minibatches of the chains; without ``further``, the pairs of a draw read the draw's minibatch
    further  separate minibatches, one for every two pairs

    A component's normals come from the stream (seed, "pairs", component): one ``torch.randn`` per two pairs,
    in the order of draws.
    """
    spread = variance_off(setting.moves, localization=setting.localization, step_size=setting.step_size)
    variance = spread[:: setting.thinning][setting.burn_in :].repeat(
        1 if further is None else setting.antithetic_pairs // 2
    )
    size = setting.antithetic_pairs if further is None else 2
    device = next(iter(centers.values())).device
    streams = {
        name: torch.Generator(device).manual_seed(derive(setting.seed, "pairs", name)) for name in centers
    }
    rise = torch.zeros(len(centers), len(variance), size, dtype=torch.float64, device=device)
    for group, squared in enumerate(variance):
        if squared == 0:  # the draw is at the centre
            continue
        if further is None:
            batch = batches[(setting.burn_in + group) * setting.thinning % len(batches)]
        else:
            batch = further[group]
        data, at_center = look(batch)
        for row, (name, center) in enumerate(centers.items()):
            for first in range(0, size, 2):
                z = torch.randn(2, len(center), generator=streams[name], dtype=center.dtype, device=device)
                z *= float(squared) ** 0.5
                both = losses(name, torch.cat([center + z, center - z]), data).double().view(2, 2)
                rise[row, group, first : first + 2] = both.mean(0) - at_center.double()
    return Pairs(rise.cpu().numpy(), variance)


def check_further(setting: SamplerConfig, further: Sequence[Any] | None) -> None:
    """Raise ValueError where there are too few further minibatches for the pairs."""
    needed = (setting.draws - setting.burn_in) * setting.antithetic_pairs // 2
    if setting.antithetic_pairs and further is not None and len(further) < needed:
        raise ValueError(
            f"pair_batches has {len(further)}: expected {needed}, one for every two of "
            f"{setting.antithetic_pairs} pairs at {setting.draws - setting.burn_in} kept draws; or None, "
            "to use the chains' batches"
        )
