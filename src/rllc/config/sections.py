"""The config, section by section. One frozen class per section; every key says what it means.

``config/README.md`` and ``workflow/schemas/config.schema.yaml`` are generated from here.
"""

import re
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from rllc.config.section import Section, key

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Count = Annotated[int, Field(ge=1)]
Step = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
GpuJob = Literal[
    "train", "sample_heads", "sample_full", "sample_other", "trace_hessian", "ablate", "measure_losses",
    "score_heads",
]  # fmt: skip

RLLC = "arXiv 2410.02984"


# --- distributions -----------------------------------------------------------------------------------


class Installed(Section):
    """Text that every machine has: the standard library and the installed, pinned packages."""

    source: Literal["installed"] = key("text that comes with Python and its packages")
    kind: Literal["prose", "code", "headers"] = key(
        "prose: English paragraphs of docstrings and docs; code: Python without docstrings; headers: C/C++"
    )
    packages: list[str] = key("which packages, by distribution name; `stdlib` is the standard library")
    megabytes: Positive = key("reading stops at this much text", unit="MB")
    held_out: Share = key("share of documents, chosen by their hash, that no model is trained on")
    label: str = key("name in figures")


class Files(Section):
    """Your own text or code."""

    source: Literal["files"] = key("text of your own files")
    path: str | list[str] = key("glob, or list of globs, relative to the repository root")
    field: str | None = key("for .jsonl: the field that holds the text", default=None)
    held_out: Share = key("share of documents held out, by hash", default=0.2)
    label: str = key("name in figures")


class Hub(Section):
    """A data set of the Hugging Face hub (or a local folder that `datasets.load_dataset` reads)."""

    source: Literal["hub"] = key("text of a data set of the hub")
    name: str = key("data set, `owner/name`")
    config: str | None = key("its configuration", default=None)
    split: str = key("its split", default="train")
    field: str = key("the column that holds the text", default="text")
    revision: str | None = key("commit or tag; give one to pin the data", default=None)
    streaming: bool = key("read without downloading the whole data set", default=True)
    documents: Count = key("reading stops after this many documents")
    held_out: Share = key("share of documents held out, by hash", default=0.1)
    label: str = key("name in figures")


class Mixture(Section):
    """Several distributions, interleaved by share of characters; for training."""

    source: Literal["mixture"] = key("text of other distributions, interleaved")
    weights: dict[Name, Positive] = key("share of characters of each part; normalised to 1", min_length=1)
    label: str = key("name in figures")


class Model(Section):
    """Contexts of another distribution, with a trained model's predictions as targets."""

    source: Literal["model"] = key("predictions of a model that the study trains or imports")
    experiment: Name = key("the teacher: its last checkpoint", source=f"{RLLC}, App. F.3 (reconstruction)")
    seed: Seed = key("which of the teacher's seeds", default=0)
    contexts: Name = key("the distribution whose contexts are read")
    label: str = key("name in figures")


Distribution = Annotated[Installed | Files | Hub | Mixture | Model, Field(discriminator="source")]


# --- tokenizers --------------------------------------------------------------------------------------


class Tokenizer(Section):
    """Text to blocks of tokens."""

    vocabulary: int = key("number of tokens, the start-of-text token included", ge=257)
    corpus: Name | None = key("train a byte-level BPE on this distribution ...", default=None)
    pretrained: str | None = key(
        "... or take this one: a hub name or a path of a tokenizer.json", default=None
    )
    context: int = key("tokens in a block, start of text included", unit="tokens", ge=4)
    train_blocks: Count = key("at most this many blocks of training text")
    held_out_blocks: Count = key("at most this many blocks of held-out text")

    @model_validator(mode="after")
    def _one_origin(self) -> "Tokenizer":
        if (self.corpus is None) == (self.pretrained is None):
            raise ValueError("give either `corpus` (to train one) or `pretrained` (to take one)")
        return self


# --- experiments -------------------------------------------------------------------------------------


class Transformer(Section):
    """An attention-only transformer."""

    n_layers: Count = key("layers")
    n_heads: Count = key("heads per layer")
    d_model: Count = key("width of the residual stream")
    d_head: Count = key("width of a head")
    n_ctx: Count = key("longest context", unit="tokens")
    positions: Literal["shortformer", "standard"] = key(
        "where positions enter: queries and keys of every layer, or the embedding", source=f"{RLLC}, App. F.1"
    )
    layer_norm: bool = key("layer norm before each layer and before the unembedding")
    layer_norm_eps: Positive = key("added to the variance in layer norm", default=1e-5)


class Initial(Section):
    """The law of the initial weights."""

    matrix_scale: Positive = key(
        "matrices ~ N(0, (matrix_scale / sqrt(d_model))^2)", source="TransformerLens: 0.8"
    )
    embedding_scale: Positive | None = key("W_E ~ N(0, embedding_scale^2); null: as the other matrices")
    query_key_factor: Positive = key("W_Q and W_K are multiplied by this")
    position_init: Literal["normal", "sinusoidal"] = key(
        "law of W_pos: as the other matrices, or sines and cosines"
    )
    position_scale: Positive = key("amplitude of sinusoidal positions")


class Training(Section):
    """The optimisation."""

    distribution: Name = key("what is trained on (its training side)")
    steps: Count = key("length", unit="steps")
    batch_size: Count = key("contexts per step")
    optimizer: Literal["adamw", "adam"] = key("adamw: decoupled weight decay; adam: coupled L2")
    learning_rate: Positive = key("peak learning rate")
    betas: list[Share] = key("Adam's betas", min_length=2, max_length=2)
    eps: Positive = key("Adam's eps")
    weight_decay: float = key("weight decay", ge=0)
    warmup: Step = key("linear warm-up", unit="steps")
    schedule: Literal["constant", "linear"] = key("after the warm-up: constant, or linear to 0 at the end")
    gradient_clip: Positive | None = key("largest gradient norm; null: no clipping")
    late_layers_ramp: Step = key(
        "learning rate of layers 1.. rises linearly over this many steps; 0: no ramp (the papers' recipe)",
        unit="steps",
    )
    keep_state_every: Count = key("a killed training resumes from at most this long ago", unit="steps")


class TrainedCheckpoints(Section):
    """Which steps of a training are kept. Adding one moves no other."""

    source: Literal["train"] = key("checkpoints of a training of ours")
    ratio: float | None = key(
        "all powers of this, rounded down; null: none. 0 and the last step are always kept", gt=1
    )
    first: Step = key("the smallest power kept", unit="steps")
    ranges: list[Annotated[list[Count], Field(min_length=3, max_length=3)]] = key(
        "also every third-th step from the first number to the second, both included",
        unit="steps",
        default=[],
    )
    extra: list[Step] = key("explicit further steps", unit="steps")
    chunks: list[Step] = key("a job takes the checkpoints from one of these steps to the next", unit="steps")


class ImportedCheckpoints(Section):
    """Checkpoints that others trained: a folder of state dicts of an attention-only HookedTransformer."""

    source: Literal["import"] = key("checkpoints that already exist")
    path: str = key(
        "folder with config.json and one .safetensors or .pt per step; `{seed}` in it is replaced"
    )
    chunks: list[Step] = key("as for trained checkpoints", unit="steps")


Checkpoints = Annotated[TrainedCheckpoints | ImportedCheckpoints, Field(discriminator="source")]


class Sampling(Section):
    """One SGLD setting for one kind of component."""

    step_size: Positive = key("SGLD step size epsilon", source=f"{RLLC}, App. F.2: 1e-3")
    n_beta: Positive = key("inverse temperature times sample size", source=f"{RLLC}, App. F.2: 30")
    localization: float = key(
        "strength gamma of the pull to the checkpoint", ge=0, source=f"{RLLC}, App. F.2: 200"
    )
    chains: int = key("independent chains", ge=2)
    draws: Count = key("draws per chain, burn-in included")
    burn_in: Step = key("draws left out of the estimate")
    batch_size: Count = key("contexts per minibatch")
    scored_positions: Count | None = key(
        "positions per context that enter the loss, drawn anew per minibatch; null: all"
    )
    init_batches: Count = key("minibatches of the papers' baseline loss")
    control_chains: Count = key("chains of the gradient-off control")
    distributions: list[Name] | None = key("null: all of the experiment's", default=None)
    components: list[str] | None = key(
        "only for the kind `other`: which, e.g. `1:0+1:1`, `layer:1`", default=None
    )
    divergence_factor: Positive = key(
        "a chain whose loss ends above this many times the loss at the checkpoint, and grows, has diverged",
        default=5.0,
    )
    keep_traces: bool = key(
        "also write the loss of every draw to traces.nc; under `sampling` only", default=False
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Sampling":
        if self.burn_in >= self.draws:
            raise ValueError(f"burn_in {self.burn_in} leaves none of the {self.draws} draws")
        if self.control_chains > self.chains:
            raise ValueError(f"control_chains {self.control_chains} exceeds chains {self.chains}")
        curvature = self.step_size * self.localization
        if curvature >= 4:
            raise ValueError(
                f"step_size x localization = {curvature:g} is unstable even without a loss; keep it under 4"
            )
        return self


class Samplings(Section):
    """A setting per kind of component; a kind that is null is not sampled."""

    heads: Sampling | None = key("every attention head alone", default=None)
    full: Sampling | None = key("the whole model", default=None)
    other: Sampling | None = key("the components it lists", default=None)

    @model_validator(mode="after")
    def _only_other_lists_components(self) -> "Samplings":
        for kind in ("heads", "full"):
            section = getattr(self, kind)
            if section is not None and section.components is not None:
                raise ValueError(f"`components` is for the kind `other`; take it out of `{kind}`")
        if self.other is not None and not self.other.components:
            raise ValueError("sampling of kind `other` needs `components: [...]`")
        for component in self.other.components if self.other else ():
            if component == "full" or re.fullmatch(r"\d+:\d+", component):
                kind = "full" if component == "full" else "heads"
                raise ValueError(f"`other` lists '{component}', which the kind `{kind}` samples; take it out")
        return self


class Hessian(Section):
    """Hutchinson traces."""

    probes: int = key("Rademacher probes", ge=2, source=f"{RLLC}, App. D: 50")
    batch_size: Count = key("contexts per probe", source=f"{RLLC}, App. D: 100 samples")
    scored_positions: Count | None = key("as in sampling")
    distributions: list[Name] | None = key("null: all of the experiment's", default=None)


def _in_whole_batches(contexts: int, batch_size: int) -> None:
    if contexts % batch_size:
        multiple = max(1, (contexts + batch_size // 2) // batch_size) * batch_size
        raise ValueError(
            f"contexts {contexts} is no multiple of batch_size {batch_size}; the nearest is {multiple}"
        )


class Ablation(Section):
    """Zero, mean and resample ablation of every head."""

    contexts: int = key("contexts, a multiple of batch_size", ge=2)
    batch_size: int = key("contexts at once", ge=2)
    distributions: list[Name] | None = key("null: all of the experiment's", default=None)

    @model_validator(mode="after")
    def _whole_batches(self) -> "Ablation":
        _in_whole_batches(self.contexts, self.batch_size)
        return self


class Patterns(Section):
    """Attention scores on random token sequences."""

    sequences: Count = key("sequences", source="arXiv 2402.02364, App. B: 10,000")
    length: int = key("tokens in a sequence", ge=16, source="arXiv 2402.02364, App. B: 128")


class Metrics(Section):
    """Losses."""

    contexts: Count = key("held-out contexts, a multiple of batch_size")
    batch_size: Count = key("contexts at once")
    icl_early: list[Step] = key(
        "ICL score = loss at late minus loss at early positions; early: from, up to but without",
        unit="positions", min_length=2, max_length=2,
    )  # fmt: skip
    icl_late: list[Step] = key(
        "late: from, up to but without", unit="positions", min_length=2, max_length=2,
        source="arXiv 2402.02364: the 50th and the 500th of 1,024",
    )  # fmt: skip

    @model_validator(mode="after")
    def _whole_batches(self) -> "Metrics":
        _in_whole_batches(self.contexts, self.batch_size)
        return self


class Clustering(Section):
    """Clusters of heads by their rLLC curves."""

    distributions: list[Name] = key("whose curves are channels of a head", min_length=1)
    algorithms: list[Literal["euclidean_kmeans", "ward", "dtw_kmeans", "shape_kmeans"]] = key(
        "each makes its own clusters", min_length=1
    )
    n_clusters: list[int] = key("numbers of clusters", min_length=1)
    points: int = key("points of the uniform grid in log(step + 1)", ge=4)
    standardize: bool = key("z-score every curve first (shape_kmeans always does)")


class HeadTypes(Section):
    """From which score on, at the last checkpoint, a head is called what it is."""

    previous_token: Share = key("mean attention to the previous token")
    current_token: Share = key("mean attention to the current token")
    prefix_matching: Share = key("induction heads: attention to the token after the first [A]")


class Experiment(Section):
    """One model, its seeds, and what is measured on it. A measure left out is not computed."""

    task: Literal["language"] = key("which task module makes the data")
    seeds: list[Seed] = key("one run per seed", min_length=1)
    model: Transformer = key("shape of the model")
    tokenizer: Name = key("which of the tokenizers makes its tokens")
    initial: Initial | None = key("needed where checkpoints are trained here", default=None)
    training: Training | None = key("needed where checkpoints are trained here", default=None)
    checkpoints: Checkpoints = key("which steps are measured, and where they come from")
    distributions: list[Name] = key("what every measure is taken on", default=[])
    sampling: Samplings | None = key(
        "the published setting; makes rllc.nc, llc.nc, components.nc", default=None
    )
    settings: dict[Name, Samplings] = key("further settings; make rllc.<setting>.nc, ...", default={})
    hessian: Hessian | None = key("traces of the Hessian; makes hessian.nc", default=None)
    ablation: Ablation | None = key("ablation of heads; makes ablation.nc", default=None)
    patterns: Patterns | None = key("attention scores of heads; makes heads.nc", default=None)
    metrics: Metrics | None = key("losses and the ICL score; makes metrics.nc", default=None)
    clustering: Clustering | None = key("clusters of heads; makes clusters.nc", default=None)
    head_types: HeadTypes | None = key("types of heads, in heads.nc; needs patterns", default=None)


# --- study -------------------------------------------------------------------------------------------


class Compute(Section):
    """How jobs compute. Results depend on `threads`, `device` and `precision`, never on `--cores`."""

    device: Literal["auto", "cpu", "cuda"] = key(
        "cuda: on the rules of gpu_jobs; others run on the CPU. auto: CUDA where there is one"
    )
    precision: Literal["fp32", "tf32", "bf16"] = key("of matrix products on a GPU; state is always fp32")
    threads: Count = key("threads of a job")
    gpu_jobs: list[GpuJob] = key("rules that ask Slurm for a GPU")
    longest_job: Count = key("Slurm time limits are never longer than this", unit="minutes", default=1440)


class Figure(Section):
    """One figure. Its name in the table is its file name."""

    draws: str | None = key(
        "which figure of the table in rllc.plan.figures; null: the one of this name", default=None
    )
    experiment: Name = key("whose datasets it reads")
    options: dict[str, str | int | float | bool | list[str] | list[int] | None] = key(
        "options of the drawing function", default={}
    )


class Study(Section):
    """The whole config."""

    results: str = key(
        "folder of all results, relative to the repository root", pattern=r"^[A-Za-z0-9_./-]+$"
    )
    seed: Seed = key("seed of the study: every random stream derives from it, its purpose and the run's seed")
    compute: Compute = key("how jobs compute")
    distributions: dict[Name, Distribution] = key("named distributions; only those that are used are made")
    tokenizers: dict[Name, Tokenizer] = key("named tokenizers; only those that are used are made")
    experiments: dict[Name, Experiment] = key("named experiments", min_length=1)
    figures: dict[Name, Figure] = key("named figures; all are drawn by default")
