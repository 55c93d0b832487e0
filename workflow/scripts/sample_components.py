"""LLC of the whole model, or of any other components: one seed, one distribution, one chunk."""

from functools import partial

from rllc.estimator.llc import estimate as estimate_llc
from rllc.estimator.rllc import step_at, with_control
from rllc.job.measuring import Measuring
from rllc.job.stage import run


def main(job: Measuring, sampling: dict) -> None:
    """SGLD in the weights of the listed components, or (none listed) in all weights, with the control."""
    kernel, extent = job.sampling(sampling)
    listed, sampler = sampling["components"], sampling["sampler"]
    size = {name: sampling[name] for name in ("step_size", "reference_norm")}

    def measure(weights, model, step):
        components = {name: model.masks(name) for name in listed or ["full"]}
        here = {"seed": job.seed(step, seeded=sampling["seeded"]), "step_size": step_at(weights, **size)}
        of = {**kernel, **here, "components": components, "sampler": sampler}
        estimate = partial(estimate_llc, model.loss, weights, **of)
        dataset = with_control(estimate, name="rllc" if listed else "llc", **extent)
        return dataset if listed else dataset.squeeze("component", drop=True)

    job.write(measure, sampling=sampling)


if __name__ == "__main__":
    run(main)
