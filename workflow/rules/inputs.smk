"""Files and settings of a job as functions of its wildcards, in the order of the stages."""

from fnmatch import fnmatch
from types import SimpleNamespace

from rllc.study.texts import normalised

# --- text


def distribution(wildcards):
    """Return the config entry of a distribution."""
    return STUDY.distributions[wildcards.distribution]


def tokenizer(wildcards):
    """Return the config entry of a tokenizer."""
    return STUDY.tokenizers[wildcards.tokenizer]


def mixed(wildcards):
    """Return the corpora of a mixture, in the order of their shares."""
    return {
        name: AT.corpus().format(distribution=name)
        for name in normalised(distribution(wildcards).weights)
    }


# --- functions that settings name by their path


def code_of_experiment(script, functions_of):
    """Return the fingerprint of a script with the functions that an experiment's settings name."""
    for name in EXPERIMENTS:  # a job of a cluster reads the fingerprints of the plan
        code(script, *functions_of(SimpleNamespace(experiment=name)))
    return lambda wildcards: code(script, *functions_of(wildcards))


def functions_of(spec):
    """Return the functions that a job of a measure calls by their path."""
    return lambda wildcards: [spec.kernel, parameters.family(experiment(wildcards))]


for path in GENERATORS.values():
    code("generate_blocks", path)


def training_functions(wildcards):
    """Return the functions that a training calls by their path."""
    own = experiment(wildcards)
    generator = parameters.training_generator(STUDY, own)
    return [parameters.family(own), *([generator] if generator else [])]


# --- checkpoints


def segment_before(wildcards):
    """Return the manifest of the previous chunk, if there is one."""
    first = int(wildcards.start)
    before = [start for start in CHUNKS[wildcards.experiment] if start < first]
    return expand(
        AT.checkpoints(),
        experiment=wildcards.experiment,
        seed=wildcards.seed,
        start=before[-1:],
    )


def blocks_for(wildcards, distribution):
    """Return the blocks of a distribution, by the experiment's tokenizer."""
    tokens = experiment(wildcards).tokenizer
    return AT.blocks().format(tokenizer=tokens, distribution=distribution)


def last_checkpoints(wildcards):
    """Return seed -> manifest of its last chunk of checkpoints."""
    return {
        seed: AT.checkpoints().format(
            experiment=wildcards.experiment,
            seed=seed,
            start=list(CHUNKS[wildcards.experiment])[-1],
        )
        for seed in experiment(wildcards).seeds
    }


def imported_from(wildcards):
    """Return the folder of one seed's imported checkpoints."""
    return experiment(wildcards).checkpoints.folder(wildcards.seed)


def imported(wildcards):
    """Return the state dicts of one chunk of imported checkpoints, and the model's config."""
    chunk = CHUNKS[wildcards.experiment][int(wildcards.start)]
    family = experiment(wildcards).model.family
    return imported_files_of(imported_from(wildcards), family, chunk)


def registered(wildcards):
    """Return config and weights of one chunk of checkpoints of Hugging Face."""
    own, seed = experiment(wildcards), int(wildcards.seed)
    folders = planned_folders(own.model, own.checkpoints, seed)
    chunk = CHUNKS[wildcards.experiment][int(wildcards.start)]
    return [file for step in chunk for file in input_files(folders[step])]


def state_kept_every(wildcards, input):
    """Return the largest number of steps that a killed training repeats. No weight depends on it.

    It is a function of `input`, because Snakemake does not rerun a job for a change of such a parameter.
    """
    return experiment(wildcards).training.keep_state_every


# --- measures


def measuring(wildcards):
    """Return the settings of a job of a measure."""
    name, start = wildcards.experiment, int(wildcards.start)
    made, chunk = MEASURED[name][wildcards.dataset], CHUNKS[name][start]
    return parameters.measure(STUDY, name, made, int(wildcards.seed), chunk)


def blocks_of(spec):
    """Return the blocks of the contexts of a distribution, or of those that a measure without one names."""
    if spec.reads_contexts_of:
        return lambda w: blocks_for(w, named_contexts(spec, w)[0])
    if not spec.per_distribution:
        return []
    return lambda w: blocks_for(w, contexts(STUDY, w.distribution))


def named_contexts(spec, wildcards):
    """Return distribution and side of the contexts that a measure names."""
    of = experiment(wildcards)
    return spec.reads_contexts_of(of, spec.declared(of)[wildcards.dataset])


def teacher_of(spec):
    """Return the last checkpoints of a distribution's teacher, whose predictions are its targets; else nothing."""

    def teacher(wildcards):
        entry = STUDY.distributions[wildcards.distribution]
        if entry.source != "model":
            return []
        return AT.checkpoints().format(
            experiment=entry.experiment,
            seed=entry.seed,
            start=max(CHUNKS[entry.experiment]),
        )

    return teacher if spec.per_distribution else []


def tokenizer_of(spec):
    """Return the tokenizer if a measure reads it."""
    if "tokenizer" not in spec.reads:
        return []
    return lambda w: AT.tokenizer().format(tokenizer=experiment(w).tokenizer)


def parts_before(spec):
    """Return the parts of other measures that a measure reads: of the same seed, and of their last chunk."""

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
        return [last_part(wildcards, name) for name in spec.before(section)]

    return parts if spec.after else []


def chunks_before(spec):
    """Return the manifests of earlier chunks that hold the checkpoints before a chunk which a measure reads."""

    def manifests(wildcards):
        table, first = CHUNKS[wildcards.experiment], int(wildcards.start)
        before = [
            start for start, steps in table.items() if start < first for _ in steps
        ]
        return expand(
            AT.checkpoints(),
            experiment=wildcards.experiment,
            seed=wildcards.seed,
            start=sorted(set(before[-spec.earlier :])),
        )

    return manifests if spec.earlier else []


def message_of(spec):
    """Return the message of a job of a measure when it starts."""
    where = ", on {wildcards.distribution}" if spec.per_distribution else ""
    of = "{wildcards.experiment}, seed {wildcards.seed}"
    return f"{spec.name} ({{wildcards.dataset}}) of {of}{where}, from step {{wildcards.start}}"


# --- datasets


def parts_of(wildcards):
    """Return the parts of a dataset (of traces, those that keep them): seeds x distributions x chunks."""
    name, parts = wildcards.experiment, []
    kept = [wildcards.dataset]
    if wildcards.dataset == TRACES:
        kept = traced(experiment(wildcards))
    for dataset in kept:
        made = MEASURED[name][dataset]
        parts += expand(
            AT.part(of_distribution=made.spec.per_distribution),
            experiment=name,
            dataset=dataset,
            seed=made.seeds,
            distribution=made.distributions,
            start=[start for start, steps in CHUNKS[name].items() if made.among(steps)],
        )
    return parts


def read_by(spec):
    """Return the datasets that an analysis reads in one experiment: name -> file."""

    def read(wildcards):
        name = wildcards.experiment
        used = [d for use in spec.uses for d in LISTED[name] if fnmatch(d, use)]
        return {dataset: AT.dataset(name, dataset) for dataset in (*spec.reads, *used)}

    return read


def files_read_by(spec):
    """Return the files of the datasets that an analysis reads."""
    reads = read_by(spec)
    return lambda wildcards: list(reads(wildcards).values())


def analysing(spec):
    """Return the settings of a job of an analysis."""
    reads = read_by(spec)
    return lambda w: parameters.analyse(STUDY, experiment(w), spec, reads(w))


def spec_of(wildcards):
    """Return the spec of the measure that makes a dataset; None for traces."""
    made = MEASURED[wildcards.experiment].get(wildcards.dataset)
    return made and made.spec


def gathering(wildcards, parts, whole=None):
    """Return the settings of a job that gathers these parts into a dataset."""
    spec, name = spec_of(wildcards), wildcards.dataset
    own = experiment(wildcards)
    return parameters.gather(STUDY, own, name, spec, parts, whole or {})


def added_by(wildcards):
    """Return the function that adds variables to a gathered dataset; "" if there is none."""
    spec = spec_of(wildcards)
    return getattr(spec and spec.finish_of(experiment(wildcards)), "function", "")
