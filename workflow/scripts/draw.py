"""Draw one figure: PNG, PDF, the dataset drawn, and its caption."""

from dataclasses import replace

from rllc.figures.uncertain import uncertain_types
from rllc.job.stage import run
from rllc.job_settings.figures import Draw
from rllc.store.figure import Files, write_figure
from rllc.store.named import read_named
from rllc.store.provenance import attributes


def main(settings: Draw, code: str, files: Files) -> None:
    """Call a drawing function with the datasets that it reads."""
    read, inputs = read_named(settings.datasets)
    drawing = settings.function.load()(read, **settings.options)
    uncertain = uncertain_types(read.get("attention_scores"), drawing.data)
    drawing = replace(drawing, conditions=[*drawing.conditions, *uncertain])
    unfinished = [
        f"{key}.nc holds {d.attrs['unfinished']}" for key, d in read.items() if "unfinished" in d.attrs
    ]
    if unfinished:
        note = f"Unfinished: {'; '.join(unfinished)}; the rest is blank."
        drawing = replace(drawing, title=f"{note}\n{drawing.title}")
    facts = attributes(function=settings.function, options=settings.options, code=code, inputs=inputs)
    write_figure(drawing, files, facts)


if __name__ == "__main__":
    run(main)
