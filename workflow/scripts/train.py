"""One segment of a training: the checkpoints of one chunk."""

from functools import partial

from rllc.job.progress import training_bar
from rllc.job.segments import Segment, train_segment
from rllc.job.stage import run
from rllc.models.device import choose, without_denormals
from rllc.models.initial import initial_weights
from rllc.models.loss import next_token_loss
from rllc.models.training import shuffled_batches, train
from rllc.models.transformer import Architecture
from rllc.store.blocks import examples


def main(segment: Segment, initial: dict, training: dict, compute: dict, steps: dict) -> None:
    """Train from the state that the segment before left to this one's last step, keeping its checkpoints."""
    model, stream = Architecture(**segment.architecture), segment.stream
    compute["device"] = choose(compute["device"]).type
    length = steps["of"] if training["schedule"] != "constant" else None  # what a step's rate depends on
    recipe = segment.recipe(initial=initial, training=training, compute=compute, length=length)
    batch_size = training.pop("batch_size")
    batches = shuffled_batches(examples(segment.blocks, "train"), batch_size=batch_size, seed=stream)
    name, tokens = f"{steps['experiment']} seed {segment.seed}", batch_size * model.n_ctx
    with training_bar(name, steps["of"], tokens) as bar, without_denormals():
        resume = partial(
            train, initial_weights(model, seed=stream, **initial), batches, loss=next_token_loss(model),
            steps=steps["of"], report=bar, device=compute["device"], precision=compute["precision"],
            **training,
        )  # fmt: skip
        train_segment(resume, segment, steps["chunk"], recipe=recipe, keep_every=steps["keep_state_every"])


if __name__ == "__main__":
    run(main)
