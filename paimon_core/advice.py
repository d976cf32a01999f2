"""Advice: the part of an error about a damaged table that names the repair command."""

from __future__ import annotations

from paimon_core.errors import CorruptTable, PaimonError


def _repair(table: str) -> str:
    return f"`paimon-core repair {table}` shows what can be read and repaired"


REPAIR = _repair("TABLE")


def for_table(text: str, table: str) -> str:
    """Return an error's ``text`` with the name of the table in its repair command."""
    return text.replace(REPAIR, _repair(table))


def advised(error: PaimonError, table: str) -> str:
    """Return the text of an error of a table; if the table is damaged, the text includes the repair command."""
    text = str(error)
    if isinstance(error, CorruptTable) and "problem" not in error.facts:
        text = f"{text}; {REPAIR}"
    return for_table(text, table)


def with_advice(error: CorruptTable, meaning: str) -> CorruptTable:
    """Return the error with ``meaning`` and the repair command in its text.

    ``facts["problem"]`` is the original text. An error that already has this fact is returned unchanged.
    """
    if "problem" in error.facts:
        return error
    facts = {**error.facts, "problem": error.message}
    return CorruptTable(f"{error.message}. {meaning}; {REPAIR}", **facts)
