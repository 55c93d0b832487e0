"""Which files and settings a job needs, as functions of its wildcards; in the order of the stages."""

from fnmatch import fnmatch
from types import SimpleNamespace

from rllc.study import unfinished

# --- text


def distribution(wildcards):
    """The config entry of a distribution."""
    return STUDY.distributions[wildcards.distribution]


def tokenizer(wildcards):
    """The config entry of a tokenizer."""
    return STUDY.tokenizers[wildcards.tokenizer]


# --- checkpoints


def starts(name):
    """First steps of an experiment's chunks."""
    return list(chunks(EXPERIMENTS[name]))


def segment_before(wildcards):
    """Manifest of the chunk before this one, if there is one."""
    before = [
        start for start in starts(wildcards.experiment) if start < int(wildcards.start)
    ]
    return expand(
        AT.checkpoints(),
        experiment=wildcards.experiment,
        seed=wildcards.seed,
        start=before[-1:],
    )


def training_blocks(wildcards):
    """Blocks of the distribution that an experiment is trained on."""
    return AT.blocks().format(
        tokenizer=experiment(wildcards).tokenizer,
        distribution=experiment(wildcards).training.distribution,
    )


def imported(wildcards):
    """The state dicts of one chunk of imported checkpoints, and the model's config."""
    folder = Path(experiment(wildcards).checkpoints.path.format(seed=wildcards.seed))
    files = imported_files(folder)
    return [
        folder / "config.json",
        *(files[step] for step in chunks(experiment(wildcards))[int(wildcards.start)]),
    ]


# --- measures


def blocks_of(wildcards):
    """Blocks of the contexts that a distribution reads."""
    return AT.blocks().format(
        tokenizer=experiment(wildcards).tokenizer,
        distribution=products.contexts(STUDY, wildcards.distribution),
    )


def teacher_of(wildcards):
    """Last checkpoints of the model whose predictions a distribution takes as targets; else nothing."""
    entry = STUDY.distributions[wildcards.distribution]
    if entry.source != "model":
        return []
    return AT.checkpoints().format(
        experiment=entry.experiment, seed=entry.seed, start=starts(entry.experiment)[-1]
    )


def labels(*names):
    """The coordinates that a part gets."""
    return lambda wildcards: as_json(
        {
            name: int(wildcards[name]) if name == "seed" else wildcards[name]
            for name in names
        }
    )


def setting_of(kind):
    """The sampling section that a job reads, as plain numbers."""
    return lambda w: as_json(
        parameters.sampling(products.sampling(experiment(w), w.setting, kind))
    )


def sampling_cost(kind):
    """Cost of sampling one kind of component."""
    return lambda w: cost.sampling(
        STUDY,
        experiment(w),
        products.sampling(experiment(w), w.setting, kind),
        kind,
        int(w.start),
    )


# --- datasets


def every_part(wildcards, dataset, measure):
    """All parts of a dataset: seeds x distributions x chunks."""
    return expand(
        AT.part(measure),
        experiment=wildcards.experiment,
        seed=experiment(wildcards).seeds,
        distribution=products.distributions(experiment(wildcards), dataset),
        start=starts(wildcards.experiment),
    )


def parts_of(wildcards):
    """All parts of the dataset that is gathered."""
    if wildcards.dataset in products.OF_ALL:
        return parts_of_all(wildcards, wildcards.dataset)
    return every_part(wildcards, wildcards.dataset, products.parts(wildcards.dataset))


def traced_parts(wildcards):
    """All parts that keep their traces."""
    return [
        part
        for dataset in products.traced(experiment(wildcards))
        for part in every_part(wildcards, dataset, products.parts(dataset))
    ]


def parts_of_all(wildcards, dataset):
    """All parts of a dataset that has no distribution: seeds x chunks."""
    return expand(
        AT.part_of_all(dataset),
        experiment=wildcards.experiment,
        seed=experiment(wildcards).seeds,
        start=starts(wildcards.experiment),
    )


def label_of(wildcards):
    """Names in figures of a dataset's distributions, in config order."""
    dataset = wildcards.get("dataset", products.TRACES)
    return as_json(
        parameters.labels(STUDY, products.distributions(experiment(wildcards), dataset))
    )


# --- figures


def entry(wildcards):
    """The figure's row in the table of figures."""
    figure = STUDY.figures[wildcards.figure]
    return FIGURES[figure.draws or wildcards.figure]


def read_by(row, listed):
    """The datasets that a row of the tables needs, and those of a list that it uses."""
    return [*row.needs, *(d for use in row.uses for d in listed if fnmatch(d, use))]


def drawn(wildcards):
    """Datasets that a figure needs, and those it uses where the experiment makes them."""
    name = STUDY.figures[wildcards.figure].experiment
    if name is None:
        needed = entry(wildcards).needs
        return {
            each: AT.claims() if needed == OF_CLAIMS else AT.validation(each)
            for each in needed
        }
    listed = [*LISTED[name], *CALIBRATED[name], "corpus"]
    return {
        dataset: AT.corpora() if dataset == "corpus" else AT.dataset(name, dataset)
        for dataset in read_by(entry(wildcards), listed)
    }


def motion(wildcards):
    """The animation's row in the table of animations."""
    return ANIMATIONS[STUDY.animations[wildcards.animation].draws]


def moving(wildcards):
    """Datasets that an animation needs, and those it uses where the experiment makes them."""
    name, row = STUDY.animations[wildcards.animation].experiment, motion(wildcards)
    return {
        dataset: AT.dataset(name, dataset) for dataset in read_by(row, LISTED[name])
    }


# --- what is finished so far

PARTIAL = ("partial", "gather_partial", "draw_partial")


def finished_parts(wildcards):
    """The parts of a dataset that are there now."""
    return [part for part in parts_of(wildcards) if Path(part).is_file()]


def begun(name):
    """The datasets of an experiment of which at least one part is finished."""
    return [
        dataset
        for dataset in LISTED[name]
        if unfinished.section(EXPERIMENTS[name], dataset)
        and finished_parts(SimpleNamespace(experiment=name, dataset=dataset))
    ]


def drawn_so_far(wildcards):
    """Datasets of a figure, as far as they are begun; None where it needs one that is not."""
    name = STUDY.figures[wildcards.figure].experiment
    if name is None:  # of no experiment
        return None
    there = {dataset: AT.partial_dataset(name, dataset) for dataset in begun(name)}
    if Path(AT.corpora()).is_file():
        there["corpus"] = AT.corpora()
    wanted = drawn(wildcards)
    if not set(entry(wildcards).needs) <= set(there):
        return None
    return {dataset: there[dataset] for dataset in wanted if dataset in there}


def so_far(wildcards):
    """Every dataset that is begun and every figure that can be drawn of them."""
    datasets = [
        AT.partial_dataset(name, dataset)
        for name in EXPERIMENTS
        for dataset in begun(name)
    ]
    figures = [
        AT.partial_figure(figure)
        for figure in asked_by("all", STUDY.figures)
        if drawn_so_far(SimpleNamespace(figure=figure))
    ]
    if not datasets:
        raise WorkflowError(
            f"no part of any dataset is finished yet under {STUDY.results}/"
        )
    return datasets + figures


def calibration_parts(dataset):
    """All parts of a dataset of the calibration: seeds x distributions x chunks with a listed checkpoint."""
    return lambda w: expand(
        AT.part(dataset),
        experiment=w.experiment,
        seed=experiment(w).calibration.seeds or experiment(w).seeds,
        distribution=products.calibration_distributions(experiment(w), dataset),
        start=[
            start
            for start in starts(w.experiment)
            if parameters.listed_steps(experiment(w), dataset, start)["steps"]
        ],
    )


def calibration_labels(dataset):
    """Names in figures of the distributions."""
    return lambda w: as_json(
        parameters.labels(
            STUDY, products.calibration_distributions(experiment(w), dataset)
        )
    )


def listed_steps(dataset):
    """The checkpoints of a chunk that a job takes."""
    return lambda w: as_json(
        parameters.listed_steps(experiment(w), dataset, int(w.start))
    )
