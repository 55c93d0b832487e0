"""LLC of the whole model, or of any other components: one seed, one distribution, one chunk."""

from functools import partial

from rllc.estimator.llc import estimate_components
from rllc.estimator.rllc import step_at, with_control
from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.models.components import masks
from rllc.models.loss import next_token_loss
from rllc.setting import Setting


def main(job: Measuring, sampling: dict) -> None:
    """SGLD in the weights of the listed components, or (none listed) in all weights, with the control."""
    batches, extent = job.sampling(sampling)
    listed = sampling["components"]
    size = {name: sampling[name] for name in ("step_size", "reference_norm")}

    def measure(weights, architecture, step):
        here = {"seed": job.seed(step, seeded=sampling["seeded"]), "step_size": step_at(weights, **size)}
        setting = Setting.of(sampling, **here)
        components = {name: masks(name, architecture) for name in listed or ["full"]}
        loss = next_token_loss(architecture)
        estimate = partial(estimate_components, loss, weights, components=components, **batches)
        dataset = with_control(estimate, setting=setting, name="rllc" if listed else "llc", **extent)
        return dataset if listed else dataset.squeeze("component", drop=True)

    job.write(measure, sampling=sampling)


if __name__ == "__main__":
    run(main)
