"""Refined LLC of every head: one seed, one distribution, one chunk of checkpoints."""

from rllc.estimator.choice import estimator
from rllc.estimator.rllc import by_head, step_at, with_control
from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.setting import Setting
from rllc.vocabulary import head_labels


def main(job: Measuring, sampling: dict) -> None:
    """SGLD in the weights of one head at a time, all heads on the same minibatches, with the control."""
    batches, extent = job.sampling(sampling)
    size = {name: sampling[name] for name in ("step_size", "reference_norm")}

    def measure(weights, architecture, step):
        labels = head_labels(architecture.n_layers, architecture.n_heads)
        here = {"seed": job.seed(step, seeded=sampling["seeded"]), "step_size": step_at(weights, **size)}
        setting = Setting.of(sampling, **here)
        estimate = estimator(weights, architecture, labels, **batches)
        return by_head(with_control(estimate, setting=setting, name="rllc", **extent))

    job.write(measure, sampling=sampling)


if __name__ == "__main__":
    run(main)
