"""Select the rows of a source whose field matches a regular expression."""

import re
from collections.abc import Callable, Iterator, Mapping


def matching(where: Mapping[str, str] | None) -> Callable[[Mapping[str, object], str], bool]:
    """Return the test ``test(row, place)`` of whether a row is read; ``place`` names the row in messages.

    where  ``field``, the name of a field with text or a list of texts, and ``matches``, a regular expression
           to find anywhere in the text, or in one of the texts; None: every row is read

    The test raises ValueError for a row without such a field, or with other data in it.
    """
    if where is None:
        return lambda row, place: True
    field, expression = where["field"], re.compile(where["matches"])

    def matches(row: Mapping[str, object], place: str) -> bool:
        value = row.get(field)
        every = value if isinstance(value, list) else [value]
        texts = [text for text in every if isinstance(text, str)]
        if len(texts) < len(every):
            raise ValueError(
                f"{place} has neither text nor a list of texts in {field!r} (where.field); it has "
                f"{sorted(row)}"
            )
        return any(expression.search(text) for text in texts)

    return matches


def some(found: Iterator, where: Mapping[str, str] | None, of: str) -> Iterator:
    """Yield the items found. Raises ValueError if there are none and ``where`` selects rows."""
    empty = True
    for each in found:
        empty = False
        yield each
    if empty and where is not None:
        raise ValueError(
            f"no row of {of} has {where['matches']!r} in {where['field']!r}: correct `where`, or remove it"
        )
