"""Health metadata: the health of a table, with its pictures, as metadata of each event about the table.

Dagster shows Markdown of 1,000 characters and more in a window of its own, so one entry has all pictures.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg

from paimon_core.errors import PaimonError
from paimon_dagster.markdown import quoted
from paimon_dagster.sample_metadata import CHANGES, SAMPLE, sample_metadata
from paimon_lake.declarations import Settings
from paimon_lake.protocol import PipelineError, StepResult
from paimon_lake.steps.health.doctor import finding_text
from paimon_lake.steps.health.examine import Examined, examine

HEALTH = "paimon/health"
"""The key of the Markdown text with the findings and the pictures."""
LARGE = (HEALTH, SAMPLE, CHANGES)
"""The keys that only one event of a run has."""
MOST_FINDINGS = 10
MOST_BYTES = 64 << 10
"""The largest Markdown text of an event. Pictures that do not fit are left out, the last of them first."""


def health_metadata(settings: Settings, name: str) -> dict[str, Any]:
    """Return the score, the measures and the pictures of a table, and the rows that its declaration shows.

    A table that cannot be examined has one entry that says why, because the event is about a step that succeeded.
    """
    sample = sample_metadata(settings, name)
    try:
        examined = examine(settings, name)
    except (PaimonError, PipelineError) as error:
        return {"paimon/health_problem": str(error), **sample}
    health = examined.health
    numbers = {"score": health.score, "findings": len(health.findings), **health.measures}
    return {
        HEALTH: dg.MetadataValue.md(health_markdown(examined)),
        **sample,
        **{f"paimon/{key}": value for key, value in numbers.items()},
    }


def with_health(settings: Settings) -> Callable[[StepResult], dict[str, Any]]:
    """Return a function that returns the ``health_metadata`` of the table of a result."""
    return lambda result: health_metadata(settings, result.table)


def without_pictures(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the pictures and rows, for the events of the other partitions of a run."""
    return {key: value for key, value in metadata.items() if key not in LARGE}


def health_markdown(examined: Examined) -> str:
    """Return the score, the findings and the pictures of a table; texts of the table do not become markup."""
    findings = examined.health.findings
    texts = [
        f"Score {examined.health.score} of 100." if findings else f"Score {examined.health.score} of 100, no findings."
    ]
    texts += [f"- {quoted(finding_text(examined.table, one))}" for one in findings[:MOST_FINDINGS]]
    texts += [f"- {len(findings) - MOST_FINDINGS} more findings"] if findings[MOST_FINDINGS:] else []
    parts, left_out = ["\n".join([texts[0], "", *texts[1:]]).rstrip()], []
    room = MOST_BYTES - len(parts[0]) - 200
    for name, svg in examined.pictures.items():
        shown = image(name, svg)
        if len(shown) <= room:
            parts.append(shown)
            room -= len(shown) + 2
        else:
            left_out.append(name)
    if left_out:
        parts.append(f"Pictures that are too large for an event: {', '.join(left_out)}. `paimon-core report` has them.")
    return "\n\n".join(parts)


def image(name: str, svg: str) -> str:
    """Return Markdown that shows an SVG text as an image, which runs no script and loads nothing."""
    return f"![{name}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"
