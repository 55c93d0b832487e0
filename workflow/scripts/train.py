"""One segment of a training: the checkpoints of one chunk."""

from collections.abc import Callable
from functools import partial

from rllc.job.progress import training_bar
from rllc.job.segments import Segment, train_segment
from rllc.job.stage import run
from rllc.models.device import choose, without_denormals
from rllc.models.model import build
from rllc.models.training import fresh_batches, shuffled_batches, train
from rllc.store.blocks import examples, generated_settings


def main(
    segment: Segment, family: Callable, generator: Callable | None,
    initial: dict, training: dict, compute: dict, steps: dict, keep_every: int,
) -> None:  # fmt: skip
    """Train from the state that the segment before left to this one's last step, keeping its checkpoints."""
    model, stream = build(family, segment.model), segment.stream
    compute["device"] = choose(compute["device"]).type
    length = steps["of"] if training["schedule"] != "constant" else None  # what a step's rate depends on
    recipe = segment.recipe(initial=initial, training=training, compute=compute, length=length)
    size, settings = training.pop("batch_size"), generated_settings(segment.blocks)
    if settings is None:
        batches = shuffled_batches(examples(segment.blocks, "train"), batch_size=size, seed=stream)
    else:
        batches = fresh_batches(generator, settings, batch_size=size, seed=stream)
    name = f"{steps['experiment']} seed {segment.seed}"
    with training_bar(name, steps["of"], size * steps["context"]) as bar, without_denormals():
        resume = partial(
            train, model.initial_weights(seed=stream, **initial), batches, loss=model.loss,
            steps=steps["of"], report=bar, device=compute["device"], precision=compute["precision"],
            **training,
        )  # fmt: skip
        train_segment(resume, segment, steps["chunk"], recipe=recipe, keep_every=keep_every)


if __name__ == "__main__":
    run(main)
