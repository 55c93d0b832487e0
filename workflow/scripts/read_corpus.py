"""Read the documents of one distribution of text."""

from pathlib import Path

from rllc.job.stage import log, run
from rllc.job_settings.text import ReadCorpus
from rllc.store.documents import write_documents
from rllc.tasks.language import documents, sources

FEW = 5  # least number of held-out documents: estimates on fewer would measure single documents


def main(settings: ReadCorpus, corpus: Path) -> None:
    """Read a source of text, split it by document hash, and write it as an Arrow table with a manifest."""
    kind, keywords, held_out = settings.kind, settings.keywords, settings.held_out
    about = {"source": kind, "settings": keywords}  # no versions, so equal text has an equal manifest
    if settings.versions:
        read_from = ", ".join(f"{name} {version}" for name, version in settings.versions.items())
        log.info("read from %s", read_from)
    try:
        table = documents.collect(sources.read(kind, **keywords), held_out_fraction=held_out, about=about)
    except ValueError as error:
        raise ValueError(f"distributions.{corpus.stem}: {error}") from error
    text = documents.manifest(table, **about)
    write_documents(table, corpus, text=text)
    log.info(
        "%s: documents %d (%d characters), of these held out %d (%d characters)", corpus.stem,
        *(text[name] for name in ("documents", "characters", "held_out_documents", "held_out_characters")),
    )  # fmt: skip
    if text["held_out_documents"] < FEW:
        log.warning(
            "documents held out: only %d of %d, and all that is measured is of them. Give more and shorter "
            "documents, or a larger held_out than %g",
            text["held_out_documents"], text["documents"], held_out,
        )  # fmt: skip


if __name__ == "__main__":
    run(main)
