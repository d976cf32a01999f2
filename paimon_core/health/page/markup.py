"""Markup: the parts of the page that are not pictures. All arguments are plain text, except those called ``markup``."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.health.page.texts import escaped

Cell = str | int | float | None


def element(tag: str, text: object, css: str = "") -> str:
    """Return an element with text."""
    return f"<{tag}{_css(css)}>{escaped(text)}</{tag}>"


def box(label: str, markup: str) -> str:
    """Return a part of the page that scrolls on its own when it is too wide; it can have the keyboard's focus."""
    return f'<div class="box" role="group" tabindex="0" aria-label="{escaped(label)}">{markup}</div>'


def table(label: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return a table; numbers are aligned to the right, and None is an empty cell."""
    first = rows[0] if rows else [None] * len(header)
    numeric = [isinstance(value, int | float) for value in first]
    return table_of(label, header, numeric, "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows))


def table_of(label: str, header: Sequence[str], numeric: Sequence[bool], markup: str) -> str:
    """Return a table with rows that are markup; the titles of ``numeric`` columns are aligned to the right."""
    head = "".join(
        f'<th scope="col"{_css("n" if right else "")}>{escaped(name)}</th>'
        for name, right in zip(header, numeric, strict=True)
    )
    return box(label, f"<table><thead><tr>{head}</tr></thead><tbody>{markup}</tbody></table>")


def figure(title: str, notes: Sequence[str], markup: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return a picture with its title, sentences about it, and a folded table of its numbers."""
    said = "".join(element("p", note) for note in notes)
    numbers = f"<details><summary>{escaped(f'Numbers: {title}')}</summary>{table(title, header, rows)}</details>"
    return f"<figure><figcaption>{escaped(title)}</figcaption>{said}{markup}{numbers}</figure>"


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """Return a list of (class of a colour, meaning)."""
    items = "".join(f'<li><span class="{css}" aria-hidden="true"></span>{escaped(text)}</li>' for css, text in entries)
    return f'<ul class="legend">{items}</ul>'


def _cell(value: Cell) -> str:
    if isinstance(value, int | float):
        return f'<td class="n">{value:,}</td>'
    return f"<td>{'' if value is None else escaped(value)}</td>"


def _css(css: str) -> str:
    return f' class="{css}"' if css else ""
