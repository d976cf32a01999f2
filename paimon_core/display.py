"""Display: how handles and values of a table show themselves, in a terminal and in a notebook.

A class states its facts once, as a ``Summary``; ``Displayed`` shows them as one line or as HTML. Names and values come
from the warehouse, so the HTML escapes them.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

SHOWN_TEXT = 60
"""The most characters of a value in a line; an ellipsis stands for the rest."""
SHOWN_NAMES = 6
"""The most names of a list in a line; the number of the other names follows."""
SHOWN_ROWS = 200
"""The most rows of the table in an HTML display."""


@dataclass(frozen=True)
class Summary:
    """What a value shows of itself."""

    of: str
    """What the value belongs to, such as ``shop.orders at snapshot 3``."""
    facts: tuple[tuple[str, Any], ...] = ()
    """Names and values; values that are None are left out."""
    details: tuple[tuple[str, Any], ...] = ()
    """More names and values, which only the HTML has."""
    header: tuple[str, ...] = ()
    """The names of the columns of ``rows``."""
    rows: Sequence[Sequence[Any]] = ()
    """The rows of a table that only the HTML has."""


class Displayed:
    """A base of classes that show a ``Summary``: ``repr`` is one line, notebooks show a small table."""

    __slots__ = ()

    def _summary(self) -> Summary:
        """Return the facts; reads no file."""
        raise NotImplementedError

    def __repr__(self) -> str:
        summary = self._summary()
        facts = [summary.of] if summary.of else []
        facts += [f"{name}={_line(value)}" for name, value in summary.facts if value is not None]
        return f"{type(self).__name__}({', '.join(facts)})"

    def _repr_html_(self) -> str:
        """Return the same facts as HTML; Jupyter calls this method."""
        summary = self._summary()
        parts = [f"<p><strong>{type(self).__name__}</strong> {html.escape(summary.of)}</p>"]
        if facts := [fact for fact in (*summary.facts, *summary.details) if fact[1] is not None]:
            parts.append(_html_table((), facts))
        if summary.header and summary.rows:
            parts.append(_html_table(summary.header, summary.rows[:SHOWN_ROWS]))
            if (left := len(summary.rows) - SHOWN_ROWS) > 0:
                parts.append(f"<p>{left:,} more rows</p>")
        return f"<div>{''.join(parts)}</div>"


class DisplayedText:
    """A base of classes whose ``str`` is a readable text: terminals and notebooks show this text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return text_html(str(self))


def text_html(text: str) -> str:
    """Return a text of several lines as HTML, in a type of equal widths: notebooks show ``pre`` in their own."""
    return f'<pre style="font-family: monospace">{html.escape(text)}</pre>'


def time_text(millis: int) -> str:
    """Return epoch milliseconds as a time in UTC, to the second; the number itself when no date can express it."""
    try:
        return datetime.fromtimestamp(millis / 1000, UTC).isoformat(" ", "seconds")
    except (ValueError, OverflowError, OSError):
        return str(millis)


def named(names: Sequence[str], whole: Sequence[str] | None = None) -> str:
    """Return a list of names as a short text; "all" when they are the ``whole`` list."""
    if whole is not None and list(names) == list(whole):
        return "all"
    shown = ", ".join(names[:SHOWN_NAMES])
    return f"[{shown}{f', and {len(names) - SHOWN_NAMES} more' if len(names) > SHOWN_NAMES else ''}]"


def _line(value: Any) -> str:
    text = " ".join(f"{value:,}".split()) if isinstance(value, int) and not isinstance(value, bool) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_TEXT else f"{text[: SHOWN_TEXT - 1]}…"


def _html_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f'<th style="text-align: left">{html.escape(name)}</th>' for name in header)
    side = "right" if header else "left"
    body = "".join(f"<tr>{''.join(_cell(value, side) for value in row)}</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def _cell(value: Any, side: str) -> str:
    """Return a cell: numbers to the ``side``, all else to the left; notebooks would align every cell to the right."""
    if value is None:
        return "<td></td>"
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    side = side if isinstance(value, int | float) and not isinstance(value, bool) else "left"
    return f'<td style="text-align: {side}">{html.escape(text if len(text) <= 1000 else f"{text[:999]}…")}</td>'
