"""One segment of a training: the checkpoints of one chunk."""

from functools import partial

from rllc.models.device import choose
from rllc.models.initial import initial_weights
from rllc.models.loss import next_token_loss
from rllc.models.training import shuffled_batches, train
from rllc.models.transformer import Architecture
from rllc.record.measuring import contexts
from rllc.record.progress import training_bar
from rllc.record.segments import Segment, train_segment
from rllc.record.stage import run


def main(segment: Segment, initial: dict, training: dict, compute: dict, steps: dict) -> None:
    """Train from the state that the segment before left to this one's last step, keeping its checkpoints."""
    model, stream, size = Architecture(**segment.architecture), segment.stream, training["batch_size"]
    recipe = segment.recipe(initial=initial, training=training, compute=compute)
    arguments = {
        name: value for name, value in training.items() if name not in ("batch_size", "keep_state_every")
    }
    batches = shuffled_batches(contexts(segment.blocks, "train"), batch_size=size, seed=stream)
    with training_bar(f"{steps['experiment']} seed {segment.seed}", steps["of"], size * model.n_ctx) as bar:
        resume = partial(
            train, initial_weights(model, seed=stream, **initial), batches, loss=next_token_loss(model),
            steps=steps["of"], device=choose(compute["device"]), precision=compute["precision"], report=bar,
            **arguments,
        )  # fmt: skip
        train_segment(resume, segment, steps["chunk"], recipe=recipe, keep_every=training["keep_state_every"])


if __name__ == "__main__":
    run(main)
