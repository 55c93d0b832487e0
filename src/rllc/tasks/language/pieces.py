"""Long texts in pieces: the tokens of the pieces, joined, are exactly the tokens of the text.

The library ``tokenizers`` needs about 140 bytes of memory for each character of a text that it encodes or
learns from. Most tokenizers first cut a text where a letter or digit is followed by white space or a comma
(pre-tokens), and no token crosses such a cut. A text that is divided there gives the same tokens.
"""

import json
import re
from collections.abc import Iterator
from itertools import pairwise

from tokenizers import Tokenizer

PIECE = 200_000  # characters of a piece, at least
UNBROKEN = 10_000  # characters of a pre-token that a tokenizer is learnt from, at most

# Letters and digits that every version of Unicode calls so, before what is neither, and no apostrophe:
# all of the patterns below end a pre-token there, whatever follows and whatever came before.
BEFORE = "(?<=[0-9A-Za-z\u3041-\u3094\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3])"
BOUNDARY = re.compile(BEFORE + "[ \n\t\r,.;:!?\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]")
SPACE = re.compile(BEFORE + " ")  # where a tokenizer puts a space in front of what does not begin with one
# As tokenizer.json spells them: GPT-2, Llama 3, Qwen 2.
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
    """Return where a text may be divided for this tokenizer: before each match.

    None where no such place is known: the normalizer changes more than the composition of characters, the
    pre-tokenizer is neither GPT-2's, Llama 3's nor Qwen 2's, or an added token could lie across the place.
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
    """Yield a text in pieces that begin at matches of ``where``, each the shortest of ``size`` or more.

    What holds no such place is one piece, however long.
    """
    start = 0
    while where and len(text) - start > size and (found := where.search(text, start + size)):
        yield text[start : found.start()]
        start = found.start()
    yield text[start:]


def without_long_runs(text: str) -> tuple[list[str], int]:
    """Cut a text wherever letters, digits, signs or white space go on for more than 10,000 characters.

    To learn byte pairs from one such run of 2 million takes minutes, and of its pieces seconds.

    Returns the pieces, and how many runs were cut.
    """
    runs = [
        (stretch.start() + run.start(), stretch.start() + run.end())
        for stretch in _STRETCH.finditer(text)
        for run in _RUN.finditer(stretch[0])
    ]
    cuts = [0, *(cut for start, end in runs for cut in range(start + UNBROKEN, end, UNBROKEN)), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)], len(runs)


def _steps(pre_tokenizer: dict | None) -> list[dict]:
    """The pre-tokenizers that a text goes through, one after the other."""
    if pre_tokenizer is None:
        return []
    return pre_tokenizer["pretokenizers"] if pre_tokenizer["type"] == "Sequence" else [pre_tokenizer]


def _ends_a_pre_token(step: dict) -> bool:
    """Whether a step cuts the text at every match of BOUNDARY."""
    if step["type"] == "Split":
        pattern = step["pattern"].get("Regex")
        return pattern in PATTERNS and (step["behavior"], step["invert"]) in (
            ("Isolated", False),
            ("Removed", True),
        )
    return step["type"] == "ByteLevel" and step["use_regex"]


def _local(step: dict) -> bool:
    """Whether what a step makes of a text on one side of such a place does not depend on the other side."""
    return step["type"] in ("ByteLevel", "Digits") or _ends_a_pre_token(step)


def _may_cross(token: dict, special_as_text: bool) -> bool:
    """Whether an added token, which is found before any cut, could reach across a place or look beyond it."""
    looks = token["lstrip"] or token["rstrip"] or token["single_word"]
    return bool(BOUNDARY.search(token["content"])) or (looks and not (token["special"] and special_as_text))
