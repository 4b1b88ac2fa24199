"""A block of ours in a text file of the user's, between two marks; the rest of the file stays as it is. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from openboxd.errors import InvalidArgument


def with_block(text: str, begin: str, end: str, lines: Sequence[str]) -> str:
    """The text with the block holding `lines`: where it was, else in front. Without lines there is no block.

    Raises:
        InvalidArgument: the marks in the text are not one pair.
    """
    present = text.splitlines(keepends=True)
    marks = [line.strip() for line in present if line.strip() in (begin, end)]
    if marks not in ([], [begin, end]):
        raise InvalidArgument(
            f"the lines '{begin}' and '{end}' must be there once each, in this order; mend that first"
        )
    block = [f"{line}\n" for line in (begin, *lines, end)] if lines else []
    if not marks:
        return "".join([*block, *present])
    first, last = (next(at for at, line in enumerate(present) if line.strip() == mark) for mark in (begin, end))
    return "".join([*present[:first], *block, *present[last + 1 :]])
