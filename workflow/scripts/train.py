"""Train one segment: make the checkpoints of one chunk."""

from dataclasses import asdict, replace
from functools import partial

from rllc.job.progress import training_bar
from rllc.job.segments import Segment, train_segment
from rllc.job.stage import run
from rllc.job_settings.checkpoints import Train
from rllc.models.device import choose, without_denormals
from rllc.models.model import build
from rllc.models.training import fresh_batches, shuffled_batches, train
from rllc.store.blocks import examples, generated_settings


def main(settings: Train, segment: Segment, keep_every: int) -> None:
    """Train from the previous segment's last state to this one's last step, and keep its checkpoints.

    keep_every  largest number of steps that a killed training repeats; no weight depends on it
    """
    facts, stream, length, size = settings.model, settings.stream, settings.length, settings.batch_size
    model = build(settings.family.load(), facts)
    compute = replace(settings.compute, device=choose(settings.compute.device).type)
    recipe = segment.recipe(
        model=facts, stream=stream, initial=settings.initial, training=settings.training, batch_size=size,
        compute=asdict(compute), length=length if settings.training["schedule"] != "constant" else None,
    )  # fmt: skip
    generated = generated_settings(segment.blocks)
    if generated is None:
        batches = shuffled_batches(examples(segment.blocks, "train"), batch_size=size, seed=stream)
    else:
        assert settings.generator is not None
        batches = fresh_batches(settings.generator.load(), generated, batch_size=size, seed=stream)
    name = f"{settings.experiment} seed {segment.seed}"
    with training_bar(name, length, size * settings.context) as bar, without_denormals():
        resume = partial(
            train, model.initial_weights(seed=stream, **settings.initial), batches, loss=model.loss,
            steps=length, report=bar, device=compute.device, precision=compute.precision,
            **settings.training,
        )  # fmt: skip
        train_segment(resume, segment, settings.chunk, model=facts, recipe=recipe, keep_every=keep_every)


if __name__ == "__main__":
    run(main)
