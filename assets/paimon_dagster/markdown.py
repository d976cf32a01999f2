"""Markdown: texts of tables as Markdown in which no character is markup."""

from __future__ import annotations


def quoted(text: str) -> str:
    """Return text as Markdown in which no character is markup; line breaks become spaces."""
    escaped = "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>~&$:" else c for c in text)
    return " ".join(escaped.split())
