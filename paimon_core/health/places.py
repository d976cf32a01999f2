"""Texts of findings: the place of a bucket, and sizes."""

from __future__ import annotations

from paimon_core.health.facts import Facts


def bucket_text(facts: Facts, at: int) -> str:
    """Return a text such as ``bucket 3 of dt=2024-01-31`` for a position in the layout."""
    layout = facts.layout
    return f"bucket {int(layout.bucket[at])}{partition_text(facts, int(layout.partition[at]))}"


def partition_text(facts: Facts, at: int) -> str:
    """Return a text such as `` of dt=2024-01-31`` for a position in ``Layout.partitions``; "" without partitions."""
    path = facts.context.partition_path(facts.layout.partitions[at])
    return f" of {path}" if path else ""


def megabytes(size: float) -> str:
    """Return a size as text: bytes below 100 kB, else megabytes."""
    return f"{size:,.0f} bytes" if size < 100_000 else f"{size / 1e6:,.1f} MB"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 bucket`` or ``3 buckets``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
