"""Which files and settings a job needs, as functions of its wildcards; in the order of the stages."""

from fnmatch import fnmatch
from types import SimpleNamespace

# --- text


def distribution(wildcards):
    """The config entry of a distribution."""
    return STUDY.distributions[wildcards.distribution]


def tokenizer(wildcards):
    """The config entry of a tokenizer."""
    return STUDY.tokenizers[wildcards.tokenizer]


# --- functions that scripts are told by their path


def family(wildcards):
    """What builds the model of an experiment, `module:function`."""
    return family_of(experiment(wildcards).model).model


def code_of_experiment(script, functions_of):
    """Fingerprint of a script that calls functions by their path, which an experiment chooses."""
    for name in EXPERIMENTS:  # a job of a cluster reads the fingerprints of the plan
        code(script, *functions_of(SimpleNamespace(experiment=name)))
    return lambda wildcards: code(script, *functions_of(wildcards))


def functions_of(row):
    """The functions that a job of a measure calls by their path."""
    return lambda wildcards: [row.kernel, family(wildcards)]


def generator(wildcards):
    """What makes the data of a generated distribution, `module:function`."""
    return GENERATORS[distribution(wildcards).source]


for path in GENERATORS.values():
    code("generate_blocks", path)


def training_generator(wildcards):
    """What makes the minibatches of a training, where they are not read; else nothing."""
    training, tokens = (
        experiment(wildcards).training,
        STUDY.tokenizers[experiment(wildcards).tokenizer],
    )
    if training is None or tokens.train_blocks is not None:
        return ""
    return GENERATORS[STUDY.distributions[training.distribution].source]


def training_functions(wildcards):
    """The functions that a training calls by their path."""
    return [family(wildcards), training_generator(wildcards)]


# --- checkpoints


def segment_before(wildcards):
    """Manifest of the chunk before this one, if there is one."""
    first = int(wildcards.start)
    before = [start for start in CHUNKS[wildcards.experiment] if start < first]
    return expand(
        AT.checkpoints(),
        experiment=wildcards.experiment,
        seed=wildcards.seed,
        start=before[-1:],
    )


def blocks_for(wildcards, distribution):
    """Blocks of a distribution, by the experiment's tokenizer."""
    tokens = experiment(wildcards).tokenizer
    return AT.blocks().format(tokenizer=tokens, distribution=distribution)


def last_checkpoints(wildcards):
    """Manifest of the last chunk of checkpoints of every seed."""
    return expand(
        AT.checkpoints(),
        experiment=wildcards.experiment,
        seed=experiment(wildcards).seeds,
        start=list(CHUNKS[wildcards.experiment])[-1],
    )


def seeds_and_unit(wildcards):
    """The seeds of an experiment, and the unit of its task's losses."""
    own = experiment(wildcards)
    return as_json({"seeds": list(own.seeds), "unit": TASKS[own.task].unit})


def imported_from(wildcards):
    """The folder of one seed's imported checkpoints."""
    return experiment(wildcards).checkpoints.folder(wildcards.seed)


def imported(wildcards):
    """The state dicts of one chunk of imported checkpoints, and the model's config."""
    folder = imported_from(wildcards)
    files = planned_files(folder)
    return [
        folder / "config.json",
        *(files[step] for step in CHUNKS[wildcards.experiment][int(wildcards.start)]),
    ]


def model_of(wildcards):
    """The facts of an experiment's model."""
    return as_json(parameters.model(STUDY, experiment(wildcards)))


def segment(wildcards):
    """The checkpoints of a chunk, and the length of the training that it is of."""
    return as_json(
        parameters.segment(STUDY, wildcards.experiment, int(wildcards.start))
    )


def state_kept_every(wildcards, input):
    """Steps from which a killed training resumes: no weight depends on it.

    A parameter that is a function of `input` is no reason for Snakemake to run a job again.
    """
    return experiment(wildcards).training.keep_state_every


# --- measures


def steps_of(wildcards):
    """The checkpoints of a chunk that a measure takes: all, or those that its section lists."""
    chunk = CHUNKS[wildcards.experiment][int(wildcards.start)]
    return MEASURED[wildcards.experiment][wildcards.dataset].among(chunk)


def settings_of(row):
    """What a kernel or an analysis is told, as plain data."""

    def settings(wildcards):
        section, at = row.declared(experiment(wildcards)), []
        if row in MEASURES:
            section, at = section[wildcards.dataset], steps_of(wildcards)
        return as_json(row.settings(work(STUDY, experiment(wildcards), section, at)))

    return settings


def stream_of(row):
    """The measure's random stream: of each seed, or one for all; 0 where nothing is random but the batches."""
    if not row.stream:
        return 0
    return stream(row.stream) if row.stream_of_seed else derive(STUDY.seed, row.stream)


def blocks_of(row):
    """Blocks of the contexts that a distribution reads, or that a measure without one names."""
    if row.contexts:
        return lambda w: blocks_for(w, named_contexts(row, w)[0])
    if not row.per_distribution:
        return []
    return lambda w: blocks_for(w, contexts(STUDY, w.distribution))


def side_of(row):
    """Which side of the blocks is read."""
    return (lambda w: named_contexts(row, w)[1]) if row.contexts else "held_out"


def named_contexts(row, wildcards):
    """Distribution and side of the contexts that a measure names."""
    of = experiment(wildcards)
    return row.contexts(of, row.declared(of)[wildcards.dataset])


def teacher_of(row):
    """Last checkpoints of the model whose predictions a distribution takes as targets; else nothing."""

    def teacher(wildcards):
        entry = STUDY.distributions[wildcards.distribution]
        if entry.source != "model":
            return []
        return AT.checkpoints().format(
            experiment=entry.experiment,
            seed=entry.seed,
            start=max(CHUNKS[entry.experiment]),
        )

    return teacher if row.per_distribution else []


def tokenizer_of(row):
    """The tokenizer, where a measure reads it."""
    if "tokenizer" not in row.reads:
        return []
    return lambda w: AT.tokenizer().format(tokenizer=experiment(w).tokenizer)


def parts_before(row):
    """Parts of the measures after which a measure comes: of the same seed, and the last chunk they have."""

    def last_part(wildcards, name):
        made = MEASURED[wildcards.experiment][name]
        table = CHUNKS[wildcards.experiment]
        return AT.part(of_distribution=False).format(
            experiment=wildcards.experiment,
            dataset=name,
            seed=wildcards.seed,
            start=max(start for start, steps in table.items() if made.among(steps)),
        )

    def parts(wildcards):
        section = MEASURED[wildcards.experiment][wildcards.dataset].section
        return [last_part(wildcards, name) for name in row.before(section)]

    return parts if row.after else []


def message_of(row):
    """What a job of a measure says when it starts."""
    where = ", on {wildcards.distribution}" if row.per_distribution else ""
    of = "{wildcards.experiment}, seed {wildcards.seed}"
    return f"{row.name} ({{wildcards.dataset}}) of {of}{where}, from step {{wildcards.start}}"


def labels(*names):
    """The coordinates that a part gets."""
    return lambda wildcards: as_json(
        {
            name: int(wildcards[name]) if name == "seed" else wildcards[name]
            for name in names
        }
    )


# --- datasets


def parts_of(wildcards):
    """The parts of a dataset, of traces those that keep them: seeds x distributions x chunks with its steps."""
    name, parts = wildcards.experiment, []
    kept = [wildcards.dataset]
    if wildcards.dataset == TRACES:
        kept = traced(experiment(wildcards))
    for dataset in kept:
        made = MEASURED[name][dataset]
        parts += expand(
            AT.part(of_distribution=made.row.per_distribution),
            experiment=name,
            dataset=dataset,
            seed=made.seeds,
            distribution=made.distributions,
            start=[start for start, steps in CHUNKS[name].items() if made.among(steps)],
        )
    return parts


def read_by(row):
    """The datasets that an analysis is made of, in one experiment."""

    def names(wildcards):
        listed = LISTED[wildcards.experiment]
        used = [name for use in row.uses for name in listed if fnmatch(name, use)]
        return [*row.reads, *used]

    return names


def files_read_by(row):
    """Their files."""
    return lambda w: [AT.dataset(w.experiment, name) for name in read_by(row)(w)]


def names_for(row):
    """What the analysis calls them, and its settings."""
    return lambda w: as_json({"datasets": read_by(row)(w), "attribute": row.name})


def row_of(wildcards):
    """The row of the measure that makes a dataset; None for traces."""
    made = MEASURED[wildcards.experiment].get(wildcards.dataset)
    return made and made.row


def variables_of(wildcards):
    """What a dataset's variables are called, and the settings of what is added at the end."""
    row, finish = row_of(wildcards), finish_of(wildcards)
    settings = (
        {finish.name: finish.keywords(experiment(wildcards))}
        if finish and finish.section
        else {}
    )
    return as_json(
        {
            "variables": words(experiment(wildcards), row) if row else {},
            "traces": row is None,
            "settings": settings,
        }
    )


def finish_of(wildcards):
    """What is added to a dataset when it is gathered; None where nothing is."""
    row = row_of(wildcards)
    if row is None or row.finish is None or not row.finish.asked(experiment(wildcards)):
        return None
    return row.finish


def added_by(wildcards):
    """The function of what is added to a dataset, "" where nothing is."""
    return getattr(finish_of(wildcards), "function", "")


def label_of(wildcards):
    """Names in figures of a dataset's distributions, in config order."""
    held = distributions(experiment(wildcards), wildcards.dataset)
    return as_json(parameters.labels(STUDY, held))
