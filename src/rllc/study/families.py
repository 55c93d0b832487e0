"""Families of models: a row for each, with its config sections. Imports no torch.

A new family is a module in ``rllc.models`` (``rllc.models.model.Model`` lists its functions) and a row here.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Discriminator, Tag

from rllc import components
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.huggingface import sections as huggingface
from rllc.study.huggingface.sections import HuggingFace, HuggingFaceInitial
from rllc.study.load import Load
from rllc.study.module import sections as own
from rllc.study.module.sections import Module, ModuleInitial
from rllc.study.values import RLLC, STAGE, Count, Positive, Step

DEFAULT = "attention_only"  # default of `model.family`
FLOPS = 1.0e11  # useful floating-point operations per second of one CPU thread
PASS = 1.25e-3  # CPU seconds of a layer's forward pass beside its products: the start of its operations ...
ELEMENT = 4.0e-9  # ... and memory traffic, per element of the residual stream
IN_CONTEXT_PASS = 3.5e-4  # as PASS, for a layer of vectors, which needs no look-up of embeddings

# Optional capabilities of a model family -> the end of the error where one is missing.
CAPABILITIES = {
    "heads": "has no attention heads",
    "attention": "has no attention patterns over tokens",
    "circuits": "has no QK and OV circuits",
    "learned_positions": "has no table of position embeddings",
    "positions": "makes one prediction of a context, so it has no loss by position",
    "tokens": "predicts no tokens, so that no prediction is right or wrong",
    "predictions": "cannot teach: it predicts no distribution",
}


def _only_full(model: Any, component: str) -> str | None:
    return None if component == "full" else f"'{component}' is not `full`, the one component of this model"


class Family(NamedTuple):
    """A family of models, described without torch. Functions take its section and that of the tokens.

    section, initial  config sections: the shape of a model, and the distribution of its initial weights
    model             ``module:function`` that takes the facts and returns an ``rllc.models.model.Model``
    facts             facts of the tokens that are part of the shape, beside the keys of the section
    weights           number of weights
    outputs           numbers in one prediction
    heads             number of attention heads, or of groups that share keys and values
    mlps              number of MLPs
    forward           CPU seconds of a forward pass; the backward pass takes twice that
    capabilities      optional capabilities beside the functions of ``Model``: keys of ``CAPABILITIES``
    of_layers         those of them that a model without layers lacks
    of_model          further capabilities of one model of the family
    reads             kinds of input: ``tokens``, ``vectors``
    sources           where its checkpoints come from: values of ``checkpoints.source``
    ramps             whether the learning rate of its later layers can rise by itself
    check_tokenizer   problems between model and tokens, each ``key: why``
    check_initial     problems between model and initial weights, each ``key: why``
    check_component   the problem with the label of a component; None: it is valid
    """

    section: type[ConfigModel]
    initial: type[ConfigModel]
    model: str
    facts: Callable[[Any, Any], dict[str, Any]]
    weights: Callable[[Any, Any], int]
    outputs: Callable[[Any, Any], int]
    forward: Callable[[Any, Any, Load], float]
    heads: Callable[[Any], int] = lambda model: 0
    mlps: Callable[[Any], int] = lambda model: 0
    capabilities: frozenset[str] = frozenset()
    of_layers: frozenset[str] = frozenset()
    of_model: Callable[[Any], frozenset[str]] = lambda model: frozenset()
    reads: tuple[str, ...] = ("tokens",)
    sources: tuple[str, ...] = ("train",)
    ramps: bool = True
    check_tokenizer: Callable[[Any, Any], Iterable[str]] = lambda model, tokens: ()
    check_initial: Callable[[Any, Any], Iterable[str]] = lambda model, initial: ()
    check_component: Callable[[Any, str], str | None] = _only_full


class AttentionOnly(ConfigModel):
    """An attention-only transformer."""

    family: Literal["attention_only"] = config_field("attention-only transformers", default="attention_only")
    n_layers: Step = config_field("layers; 0: the next token is predicted from the current one alone")
    n_heads: Count = config_field("heads per layer")
    d_model: Count = config_field("width of the residual stream")
    d_head: Count = config_field("width of a head")
    n_ctx: Count = config_field("longest context", unit="tokens")
    positions: Literal["shortformer", "standard"] = config_field(
        "where positions enter: queries and keys of every layer, or the embedding", source=f"{RLLC}, App. F.1"
    )
    layer_norm: bool = config_field("layer norm before each layer and before the unembedding")
    layer_norm_eps: Positive = config_field("added to the variance in layer norm", default=1e-5)


class AttentionOnlyInitial(ConfigModel):
    """The law of the initial weights of an attention-only transformer."""

    matrix_scale: Positive = config_field(
        "matrices ~ N(0, (matrix_scale / sqrt(d_model))^2)", source="TransformerLens: 0.8"
    )
    embedding_scale: Positive | None = config_field(
        "W_E ~ N(0, embedding_scale^2); null: as the other matrices"
    )
    query_key_factor: Positive = config_field("W_Q and W_K are multiplied by this")
    position_init: Literal["normal", "sinusoidal"] = config_field(
        "law of W_pos: as the other matrices, or sines and cosines"
    )
    position_scale: Positive | None = config_field(
        "standard deviation of W_pos (null: as the other matrices), or amplitude of sinusoidal ones (null: 1)"
    )


class InContext(ConfigModel):
    """A transformer with MLPs that reads vectors and predicts numbers."""

    family: Literal["in_context"] = config_field("transformers with MLPs on vectors")
    n_layers: Count = config_field("layers", source=f"{STAGE}, App. F.3: 2")
    n_heads: Count = config_field("heads per layer", source=f"{STAGE}, App. F.3: 4")
    d_model: Count = config_field(
        "width of the residual stream and of the MLPs", source=f"{STAGE}, App. F.3: 64"
    )
    d_head: Count = config_field("width of a head", source="the authors' code: d_model / n_heads")
    residual: Literal["doubled", "plain"] = config_field(
        "what a block leaves of its input h: 2 h, or h",
        source="the authors' code: doubled",
        default="doubled",
    )
    attention_output: bool = config_field(
        "whether a matrix mixes the heads of a layer", source=f"{STAGE}, Fig. C.2: false there", default=True
    )
    layer_norm_eps: Positive = config_field("added to the variance in layer norm", default=1e-5)


class InContextInitial(ConfigModel):
    """The law of the initial weights of such a transformer."""

    scale: Positive = config_field("uniform within this / sqrt(inputs of the layer)", source="PyTorch: 1")


def _weights(model: AttentionOnly, tokens: Any) -> int:
    width = model.n_heads * model.d_head
    layer = 4 * model.d_model * width + 3 * width + model.d_model * (3 if model.layer_norm else 1)
    norm = 2 * model.d_model if model.layer_norm else 0
    vocabulary = tokens.vocabulary
    positions = model.n_ctx if model.n_layers or model.positions == "standard" else 0
    return (2 * vocabulary + positions) * model.d_model + vocabulary + model.n_layers * layer + norm


def _forward(model: AttentionOnly, tokens: Any, load: Load) -> float:
    width = model.n_heads * model.d_head
    # One layer: projections are computed from tokens and positions, so their cost does not grow with
    # contexts.
    shared = model.n_layers == 1 and tokens.vocabulary <= load.batch_size
    projections = 0 if shared else load.length * 4 * model.d_model * width
    attention = 2 * load.length * (load.length if model.n_layers > 1 else load.predictions) * width
    logits = load.scored * model.d_model * tokens.vocabulary
    products = 2.0 * load.batch_size * (model.n_layers * (projections + attention) + logits) / FLOPS
    return products + model.n_layers * (PASS + ELEMENT * load.batch_size * load.length * model.d_model)


def _too_long(model: AttentionOnly, tokens: Any) -> Iterator[str]:
    if tokens.context > model.n_ctx:
        yield f"n_ctx: {model.n_ctx} positions cannot hold the blocks of {tokens.context} tokens"


def _odd(model: AttentionOnly, initial: AttentionOnlyInitial) -> Iterator[str]:
    if initial.position_init == "sinusoidal" and model.d_model % 2:
        yield f"position_init: sines and cosines need an even d_model, not {model.d_model}"


def _no_component(model: AttentionOnly, component: str) -> str | None:
    try:
        components.check(component, n_layers=model.n_layers, n_heads=model.n_heads, norms=model.layer_norm)
    except ValueError as error:
        return str(error)
    return None


def _in_context_weights(model: InContext, tokens: Any) -> int:
    d, width, vector = model.d_model, model.n_heads * model.d_head, tokens.dimension + 1
    layer = (4 if model.attention_output else 3) * d * width + 2 * d * (d + 1) + 4 * d
    return (2 * vector + tokens.context) * d + vector + model.n_layers * layer + 2 * d


def _in_context_forward(model: InContext, tokens: Any, load: Load) -> float:
    d, vectors = model.d_model, load.batch_size * load.length
    products = 2.0 * vectors * model.n_layers * (4 * d * model.n_heads * model.d_head + 2 * d * d) / FLOPS
    return products + model.n_layers * (IN_CONTEXT_PASS + ELEMENT * vectors * d)


def _huggingface_forward(model: HuggingFace, tokens: Any, load: Load) -> float:
    shape, inputs = model.shape, load.batch_size * load.length
    vocabulary = huggingface.vocabulary(model, tokens)
    layers = huggingface.weights(model, tokens) - (1 if shape.tied else 2) * vocabulary * shape.d_model
    attention = 2 * shape.n_layers * load.length * shape.d_model
    logits = load.batch_size * load.scored * shape.d_model * vocabulary
    products = 2.0 * (inputs * (layers + attention) + logits) / FLOPS
    return products + shape.n_layers * (PASS + ELEMENT * inputs * shape.d_model)


FAMILIES: dict[str, Family] = {
    "attention_only": Family(
        AttentionOnly,
        AttentionOnlyInitial,
        "rllc.models.attention_only:model",
        facts=lambda model, tokens: {"d_vocab": tokens.vocabulary},
        weights=_weights,
        outputs=lambda model, tokens: tokens.vocabulary,
        forward=_forward,
        heads=lambda model: model.n_layers * model.n_heads,
        capabilities=frozenset(CAPABILITIES),
        of_layers=frozenset({"heads", "attention", "circuits"}),
        sources=("train", "import"),
        check_tokenizer=_too_long,
        check_initial=_odd,
        check_component=_no_component,
    ),
    "in_context": Family(
        InContext,
        InContextInitial,
        "rllc.models.regression:model",
        facts=lambda model, tokens: {"context": tokens.context, "d_vector": tokens.dimension + 1},
        weights=_in_context_weights,
        outputs=lambda model, tokens: 1,
        forward=_in_context_forward,
        capabilities=frozenset({"positions"}),
        reads=("vectors",),
    ),
    "huggingface": Family(
        HuggingFace,
        HuggingFaceInitial,
        "rllc.estimator.huggingface.family:model",
        facts=huggingface.facts,
        weights=huggingface.weights,
        outputs=huggingface.vocabulary,
        forward=_huggingface_forward,
        heads=huggingface.heads,
        mlps=lambda model: model.n_layers,
        capabilities=frozenset({"heads", "attention", "positions", "tokens", "predictions"}),
        of_model=huggingface.capabilities,
        sources=("train", "huggingface"),
        ramps=False,
        check_tokenizer=huggingface.check_tokens,
        check_component=huggingface.check_component,
    ),
    "module": Family(
        Module,
        ModuleInitial,
        "rllc.models.module.build:model",
        facts=own.facts,
        weights=lambda model, tokens: model.weights,
        outputs=lambda model, tokens: model.vocabulary,
        forward=lambda model, tokens, load: own.operations(model, load) / FLOPS + PASS,
        capabilities=frozenset({"positions", "tokens", "predictions"}),
        sources=("train", "import"),
        ramps=False,
        check_tokenizer=own.check_tokens,
        check_component=own.check_component,
    ),
}


def _family(entry: Any) -> str:
    given = entry.get("family", DEFAULT) if isinstance(entry, dict) else getattr(entry, "family", DEFAULT)
    return str(given)


ModelSection = Annotated[
    Annotated[AttentionOnly, Tag("attention_only")]
    | Annotated[InContext, Tag("in_context")]
    | Annotated[HuggingFace, Tag("huggingface")]
    | Annotated[Module, Tag("module")],
    Discriminator(_family),
]
Initial = AttentionOnlyInitial | InContextInitial | HuggingFaceInitial | ModuleInitial


def family_of(model: ModelSection) -> Family:
    """Return the row of a model's family."""
    return FAMILIES[model.family]


def missing_capabilities(model: ModelSection, requires: Iterable[str]) -> list[str]:
    """Return a sentence for each required capability that the model's family lacks."""
    family = family_of(model)
    bare = bool(family.of_layers) and getattr(model, "n_layers", None) == 0
    here = (family.capabilities | family.of_model(model)) - (family.of_layers if bare else frozenset())
    name = "a model without layers" if bare else f"a model of the family {model.family}"
    return [f"{name} {CAPABILITIES[capability]}" for capability in requires if capability not in here]
