"""LLC of the whole model, or of any other components: one seed, one distribution, one chunk."""

from functools import partial

from rllc.measures.llc import estimate as estimate_llc
from rllc.measures.rllc import with_control
from rllc.models.components import masks
from rllc.models.loss import next_token_loss
from rllc.record.measuring import Measuring
from rllc.record.stage import run


def main(job: Measuring, sampling: dict) -> None:
    """SGLD in the weights of the listed components, or (none listed) in all weights, with the control."""
    kernel, extent = job.sampling(sampling)
    listed = sampling["components"]

    def measure(weights, architecture, step):
        loss, seed = next_token_loss(architecture), job.seed(step, seeded=sampling["seeded"])
        components = {name: masks(name, architecture) for name in listed or ["full"]}
        estimate = partial(
            estimate_llc,
            loss,
            weights,
            components=components,
            seed=seed,
            sampler=sampling["sampler"],
            **kernel,
        )
        dataset = with_control(estimate, name="rllc" if listed else "llc", **extent)
        return dataset if listed else dataset.squeeze("component", drop=True)

    job.write(measure, sampling=sampling)


if __name__ == "__main__":
    run(main)
