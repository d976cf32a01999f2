"""Stale text: the words for stale partitions in results, logs and checks.

``protocol`` imports this module and must not import from ``loads``, so the words are not in ``loads.inputs.stale``.
"""

from __future__ import annotations

from collections.abc import Mapping

OTHERS = "*"
"""The key for all partitions that were loaded with the whole table, or for a table without partitions."""


def by_reason(stale: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the sorted stale partitions of each reason; usually many partitions have the same reason."""
    keys_of: dict[str, list[str]] = {}
    for key, why in stale.items():
        keys_of.setdefault(why, []).append(key)
    return {why: sorted(keys) for why, keys in keys_of.items()}


def stale_text(stale: Mapping[str, str]) -> str:
    """Return a text about stale partitions: for each reason the first five partitions, and the reason."""
    clauses = []
    for why, keys in by_reason(stale).items():
        named = [key for key in keys if key != OTHERS]
        more = f" and {len(named) - 5} more" if len(named) > 5 else ""
        parts = [f"partition{'s' * (len(named) > 1)} {', '.join(named[:5])}{more}"] if named else []
        others = ["the other partitions" if len(stale) > 1 else "all rows"] if OTHERS in keys else []
        clauses.append(f"{' and '.join(parts + others)} ({why})")
    return "; ".join(clauses)
