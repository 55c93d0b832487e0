"""Fonts of figures: DejaVu Sans, which comes with matplotlib, and the machine's fonts for other scripts."""

from functools import cache

from matplotlib.font_manager import FontProperties, findfont, get_font, get_font_names

OWN = "DejaVu Sans"
# Fonts of other scripts, in the order of the search for a character. Only installed ones are used.
OTHERS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK TC", "Noto Sans CJK KR", "Noto Sans SC",
    "Noto Sans JP", "Noto Sans TC", "Noto Sans KR", "Source Han Sans SC", "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei", "Droid Sans Fallback", "IPAexGothic", "IPAGothic", "TakaoGothic", "VL Gothic",
    "NanumGothic", "PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Arial Unicode MS",
    "Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai", "Noto Sans Ethiopic",
    "Noto Sans Khmer", "Noto Sans Myanmar", "Noto Sans", "FreeSans", "Unifont", "Symbola", "Noto Emoji",
)  # fmt: skip


@cache
def families() -> tuple[str, ...]:
    """Return the fonts of figures, in the order of the search for a character."""
    there = set(get_font_names())
    return (OWN, *(name for name in OTHERS if name in there))


def undrawable(text: str) -> str:
    """Return the characters of a text that no font of figures has. Figures show boxes instead."""
    fonts = [get_font(findfont(FontProperties(family=name))) for name in families()]
    odd = dict.fromkeys(character for character in text if ord(character) > 127 and not character.isspace())
    return "".join(one for one in odd if not any(font.get_char_index(ord(one)) for font in fonts))
