"""Divide long texts into pieces whose joined tokens are exactly the tokens of the text.

The library ``tokenizers`` needs about 140 bytes of memory per character to encode a text or learn from it.
Most tokenizers first cut a text into pre-tokens, for example between a letter or digit and white space.
No token crosses such a cut, so a text that is divided there gives the same tokens.
"""

import json
import re
from collections.abc import Iterator
from itertools import pairwise

from tokenizers import Tokenizer

PIECE = 200_000  # least number of characters of a piece
UNBROKEN = 10_000  # most characters of a pre-token that a tokenizer learns from

# Letters and digits in every version of Unicode, followed by neither and by no apostrophe. All patterns below
# end a pre-token there, in any context.
BEFORE = "(?<=[0-9A-Za-z\u3041-\u3094\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3])"
BOUNDARY = re.compile(BEFORE + "[ \n\t\r,.;:!?\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]")
SPACE = re.compile(BEFORE + " ")  # for tokenizers that put a space before a text without one
# As in tokenizer.json: GPT-2, Llama 3, Qwen 2.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = (GPT2, LLAMA3, LLAMA3.replace("{1,3}", ""))

_STRETCH = re.compile(rf"(?<!\S)\S{{{UNBROKEN + 1},}}|(?<!\s)\s{{{UNBROKEN + 1},}}")
_KINDS = (r"[^\W\d_]", r"\d", r"\s", r"(?:[^\w\s]|_)")
_RUN = re.compile("|".join(rf"(?<!{kind}){kind}{{{UNBROKEN + 1},}}" for kind in _KINDS))


def boundary(tokenizer: Tokenizer) -> re.Pattern[str] | None:
    """Return a pattern for this tokenizer: a text may be divided before each match.

    None where no such place is known: the normalizer changes more than the composition of characters, the
    pre-tokenizer is not GPT-2's, Llama 3's or Qwen 2's, or an added token could cross the place.
    """
    told = json.loads(tokenizer.to_str())
    normalizer, steps = told["normalizer"] or {"type": "NFC"}, _steps(told["pre_tokenizer"])
    whole = normalizer["type"] != "NFC" or told["truncation"] or told["padding"]
    if whole or not all(map(_local, steps)) or not any(map(_ends_a_pre_token, steps)):
        return None
    if any(_may_cross(token, tokenizer.encode_special_tokens) for token in told["added_tokens"]):
        return None
    return SPACE if any(step.get("add_prefix_space") for step in steps) else BOUNDARY


def pieces(text: str, where: re.Pattern[str] | None, size: int = PIECE) -> Iterator[str]:
    """Yield a text in pieces that begin at matches of ``where``, as short as possible from ``size`` on.

    Text without such a place is one piece of any length.
    """
    start = 0
    while where and len(text) - start > size and (found := where.search(text, start + size)):
        yield text[start : found.start()]
        start = found.start()
    yield text[start:]


def without_long_runs(text: str) -> tuple[list[str], int]:
    """Cut runs of letters, digits, signs or white space of more than 10,000 characters.

    Learning byte pairs from a run of 2 million takes minutes, from its pieces seconds.

    Returns the pieces and the number of runs cut.
    """
    runs = [
        (stretch.start() + run.start(), stretch.start() + run.end())
        for stretch in _STRETCH.finditer(text)
        for run in _RUN.finditer(stretch[0])
    ]
    cuts = [0, *(cut for start, end in runs for cut in range(start + UNBROKEN, end, UNBROKEN)), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)], len(runs)


def _steps(pre_tokenizer: dict | None) -> list[dict]:
    """Return the list of pre-tokenizers, in the order in which they apply."""
    if pre_tokenizer is None:
        return []
    return pre_tokenizer["pretokenizers"] if pre_tokenizer["type"] == "Sequence" else [pre_tokenizer]


def _ends_a_pre_token(step: dict) -> bool:
    """Return whether a step cuts the text at every match of BOUNDARY."""
    if step["type"] == "Split":
        pattern = step["pattern"].get("Regex")
        return pattern in PATTERNS and (step["behavior"], step["invert"]) in (
            ("Isolated", False),
            ("Removed", True),
        )
    return step["type"] == "ByteLevel" and step["use_regex"]


def _local(step: dict) -> bool:
    """Return whether the result of a step on one side of a boundary is independent of the other side."""
    return step["type"] in ("ByteLevel", "Digits") or _ends_a_pre_token(step)


def _may_cross(token: dict, special_as_text: bool) -> bool:
    """Return whether an added token, which is found before any cut, could cross a boundary."""
    looks = token["lstrip"] or token["rstrip"] or token["single_word"]
    return bool(BOUNDARY.search(token["content"])) or (looks and not (token["special"] and special_as_text))
