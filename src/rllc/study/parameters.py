"""Settings of every script: sections of the config as the classes of ``rllc.job_settings``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rllc.job_settings.checkpoints import ImportCheckpoints, ListComponents, RegisterCheckpoints, Train
from rllc.job_settings.compute import Compute
from rllc.job_settings.datasets import Analyse, Gather
from rllc.job_settings.functions import NamedFunction
from rllc.job_settings.measures import Measure
from rllc.job_settings.text import GenerateBlocks, MakeBlocks, MakeTokenizer, MixCorpora, ReadCorpus
from rllc.seeds import derive
from rllc.study import texts
from rllc.study.datasets import Dataset, distributions, measured, words
from rllc.study.distributions import Files, Hub, Installed, Mixture, TextTokens
from rllc.study.families import family_of
from rllc.study.huggingface.folders import planned_folders
from rllc.study.huggingface.sections import HuggingFace
from rllc.study.precise import precise_steps
from rllc.study.sampling import settings
from rllc.study.specs import AnalysisSpec, MeasureSpec
from rllc.study.steps import chunks
from rllc.study.study import Experiment, Study, work
from rllc.study.tasks import GENERATORS, Distribution, Tokenizer
from rllc.study.tasks import settings as of_generator

# --- text and generated data


def read_corpus(entry: Installed | Files | Hub) -> ReadCorpus:
    """Return the settings of the reader of a source: every key except the label."""
    keywords = entry.model_dump(exclude={"source", "held_out", "label"})
    return ReadCorpus(entry.source, keywords, entry.held_out, texts.versions(entry))


def mix_corpora(study: Study, entry: Mixture, corpora: Mapping[str, str]) -> MixCorpora:
    """Return the shares of a mixture. ``corpora`` holds the corpus of every part."""
    weights = texts.normalised(entry.weights)
    parts = {name: Path(corpora[name]) for name in weights}
    return MixCorpora(parts, weights, derive(study.seed, "mixture"))


def make_tokenizer(entry: TextTokens) -> MakeTokenizer:
    """Return the settings of a tokenizer."""
    return MakeTokenizer(entry.pretrained, entry.vocabulary)


def make_blocks(study: Study, entry: TextTokens) -> MakeBlocks:
    """Return the settings of blocks of text."""
    sizes = entry.context, entry.vocabulary, entry.train_blocks, entry.held_out_blocks
    return MakeBlocks(*sizes, derive(study.seed, "blocks"), entry.bos)


def generate_blocks(study: Study, entry: Distribution, tokens: Tokenizer) -> GenerateBlocks:
    """Return the settings of the data of a generated task."""
    stream = derive(study.seed, "lists")  # named after the first such task
    generator = NamedFunction(GENERATORS[entry.source])
    return GenerateBlocks(
        generator, of_generator(entry, tokens), tokens.train_blocks, tokens.held_out_blocks, stream
    )


# --- checkpoints


def family(experiment: Experiment) -> NamedFunction:
    """Return the function that builds the model of an experiment."""
    return NamedFunction(family_of(experiment.model).model)


def model(study: Study, experiment: Experiment) -> dict[str, Any]:
    """Return the family of a model and the facts that determine its shape."""
    facts = family_of(experiment.model).facts(experiment.model, study.tokenizers[experiment.tokenizer])
    return {**experiment.model.model_dump(), **facts}


def training_generator(study: Study, experiment: Experiment) -> NamedFunction | None:
    """Return the generator of a training's minibatches; None if they are read, or nothing is trained."""
    training, tokens = experiment.training, study.tokenizers[experiment.tokenizer]
    if training is None or tokens.train_blocks is not None:
        return None
    return NamedFunction(GENERATORS[study.distributions[training.distribution].source])


def train(study: Study, name: str, seed: int, start: int) -> Train:
    """Return the settings of one segment of a training. Its weights depend on all of them."""
    experiment = study.experiments[name]
    training, initial = experiment.own_training, experiment.initial
    chunk = chunks(experiment)[start]
    return Train(
        experiment=name,
        family=family(experiment),
        generator=training_generator(study, experiment),
        model=model(study, experiment),
        initial=initial.model_dump() if initial else {},
        training=training.model_dump(exclude={"distribution", "steps", "batch_size", "keep_state_every"}),
        batch_size=training.batch_size,
        compute=compute(study, "train"),
        chunk=chunk,
        length=chunk[-1] if training.schedule == "constant" else training.steps,
        context=study.tokenizers[experiment.tokenizer].context,
        stream=derive(study.seed, seed, "training"),
    )


def import_checkpoints(study: Study, name: str, seed: int, start: int) -> ImportCheckpoints:
    """Return the settings of an import of checkpoints."""
    experiment = study.experiments[name]
    assert experiment.checkpoints.source == "import"
    folder = experiment.checkpoints.folder(seed)
    return ImportCheckpoints(folder, model(study, experiment), chunks(experiment)[start])


def register_checkpoints(study: Study, name: str, seed: int, start: int) -> RegisterCheckpoints:
    """Return the settings of the record of one chunk of checkpoints of Hugging Face."""
    experiment = study.experiments[name]
    assert experiment.checkpoints.source == "huggingface" and isinstance(experiment.model, HuggingFace)
    folders = planned_folders(experiment.model, experiment.checkpoints, seed)
    chunk = chunks(experiment)[start]
    sampled = settings(experiment).values()
    return RegisterCheckpoints(
        folders={step: folders[step] for step in chunk},
        model=model(study, experiment),
        heads=family_of(experiment.model).heads(experiment.model) if any(s.heads for s in sampled) else 0,
        components=sorted({label for s in sampled if s.other for label in s.other.components or ()}),
    )


def list_components(study: Study) -> ListComponents:
    """Return the models of a study."""
    experiments = study.experiments.items()
    families = {name: family(experiment) for name, experiment in experiments}
    return ListComponents(families, {name: model(study, experiment) for name, experiment in experiments})


# --- measures and datasets


def measure(study: Study, name: str, made: Dataset, seed: int, chunk: list[int]) -> Measure:
    """Return the settings of one job of a measure: one seed, at the checkpoints that the dataset has."""
    experiment, spec, steps = study.experiments[name], made.spec, made.among(chunk)
    of_seed = (seed,) if spec.stream_of_seed else ()
    return Measure(
        family=family(experiment),
        kernel=NamedFunction(spec.kernel),
        keywords=spec.settings(work(study, experiment, made.section, steps)),
        attribute=spec.attribute,
        steps=steps,
        compute=compute(study, spec.name),
        side=spec.reads_contexts_of(experiment, made.section)[1] if spec.reads_contexts_of else "held_out",
        stream=derive(study.seed, *of_seed, spec.stream) if spec.stream else 0,
        batch_stream=derive(study.seed, "batches") if spec.per_distribution else 0,
        bos=getattr(study.tokenizers[experiment.tokenizer], "bos", None),
        earlier=spec.earlier,
    )


def gather(
    study: Study,
    experiment: Experiment,
    dataset: str,
    spec: MeasureSpec | None,
    parts: list[str],
    whole: Mapping[str, list[Any]],
) -> Gather:
    """Return the settings of the job that gathers a dataset.

    spec   spec of the measure; None for traces, which several measures make
    whole  labels of the whole dataset if parts may be missing; empty: no part is missing
    """
    finish = spec.finish_of(experiment) if spec else None
    return Gather(
        parts=[Path(part) for part in parts],
        labels=labels(study, distributions(experiment, dataset)),
        variables={
            variable: (each.long_name, each.unit, list(each.dims), each.optional)
            for variable, each in (words(experiment, spec) if spec else {}).items()
        },
        freedom=degrees_of_freedom(experiment, dataset, spec) if spec else {},
        precise=more_degrees_of_freedom(experiment, dataset, spec) if spec else {},
        precise_at=steps_read_precisely(study, experiment, dataset) if spec else [],
        traces=spec is None,
        finish=NamedFunction(finish.function) if finish else None,
        keywords={finish.name: finish.keywords(experiment)} if finish and finish.section else {},
        whole=dict(whole),
    )


def degrees_of_freedom(experiment: Experiment, dataset: str, spec: MeasureSpec) -> dict[str, int]:
    """Return the degrees of freedom of standard errors: one less than the units that the section says."""
    section = measured(experiment)[dataset].section
    units = {name: getattr(section, each.over) for name, each in spec.all_variables.items() if each.over}
    return {name: number - 1 for name, number in units.items() if number is not None and number > 1}


def more_degrees_of_freedom(experiment: Experiment, dataset: str, spec: MeasureSpec) -> dict[str, int]:
    """Return those of errors over ``precise`` units, where these are more than elsewhere."""
    precise = getattr(measured(experiment)[dataset].section, "precise", None)
    fewer = degrees_of_freedom(experiment, dataset, spec)
    return {name: precise - 1 for name, number in fewer.items() if precise and precise - 1 > number}


def steps_read_precisely(study: Study, experiment: Experiment, dataset: str) -> list[int]:
    """Return the steps that ``precise`` of a dataset's section is for."""
    section = measured(experiment)[dataset].section
    return precise_steps(work(study, experiment, section, [])) if hasattr(section, "precise") else []


def analyse(study: Study, experiment: Experiment, spec: AnalysisSpec, datasets: Mapping[str, str]) -> Analyse:
    """Return the settings of an analysis, which makes a dataset from others."""
    section = spec.section_of(experiment)
    assert section is not None
    return Analyse(
        analysis=NamedFunction(spec.function),
        datasets={name: Path(file) for name, file in datasets.items()},
        keywords=spec.settings(work(study, experiment, section, [])),
        attribute=spec.name,
        words={name: variable[:2] for name, variable in spec.variables.items() if variable.long_name},
        stream=derive(study.seed, spec.stream) % 2**32 if spec.stream else 0,
    )


def compute(study: Study, rule: str) -> Compute:
    """Return device, precision and threads of a rule.

    With ``cuda``, only the rules of ``gpu_jobs`` use the GPU. Only training uses bf16: measures use TF32
    instead.
    """
    section = study.compute
    here = section.device == "cuda" and not section.on_gpu(rule)
    lowest = section.precision if rule == "train" or section.precision != "bf16" else "tf32"
    return Compute(
        device="cpu" if here else section.device,
        precision="fp32" if here else lowest,
        threads=section.threads,
    )


def labels(study: Study, names: list[str]) -> dict[str, str]:
    """Return distribution -> its name in figures, in config order."""
    return {name: study.distributions[name].label for name in names}
