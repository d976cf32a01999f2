"""section: the part of the page about one table: key numbers, findings with their mends, and pictures."""

from __future__ import annotations

from paimon_core.health.facts import Facts
from paimon_core.health.finding import Finding, Health
from paimon_core.health.page.heat_map import heat_map_figure
from paimon_core.health.page.history_chart import history_figures
from paimon_core.health.page.lsm_tree import files_figure
from paimon_core.health.page.markup import element
from paimon_core.health.page.texts import UNKNOWN, counted, escaped, moment, number, size
from paimon_core.health.page.time_line import time_line_figure


def table_name(health: Health) -> str:
    """Return the name of the table, with its branch."""
    base = health.table.partition("$")[0]
    return base if health.branch == "main" else f"{base} (branch {health.branch})"


def version_text(facts: Facts) -> str:
    """Return which version this is, and when it was examined."""
    when = f"examined {moment(facts.now_millis)}"
    if facts.snapshot is None:
        return f"The table has no snapshot; {when}"
    return f"Snapshot {facts.snapshot.id} of {moment(facts.snapshot.time_millis)}; {when}"


def section_body(facts: Facts, health: Health, level: int) -> str:
    """Return the numbers, findings and pictures of one table, with headings of a level such as 2 for ``h2``.

    Raises SnapshotNotFound when the version expires during the call, CorruptTable for metadata that cannot be read.
    """
    part = f"h{level}"
    files = files_figure(facts) + heat_map_figure(facts)
    return "".join(
        [
            element("p", version_text(facts), "muted"),
            _numbers(facts, health),
            element(part, "Findings", "part"),
            "".join(_finding(one, level + 1) for one in health.findings) or element("p", "No findings."),
            element(part, "Files", "part"),
            files or element("p", "There are no data files to draw."),
            element(part, "History", "part"),
            history_figures(facts) + time_line_figure(facts) or element("p", "There is no history to draw."),
        ]
    )


def _numbers(facts: Facts, health: Health) -> str:
    m, held = health.measures, facts.held
    age = facts.days_since(held.first_snapshot_millis) if held.first_snapshot_millis is not None else 0.0
    no_live = "" if held.live else UNKNOWN
    values = [
        ("score", number(health.score), "of 100"),
        ("live data files", size(m["live_bytes"]), counted(int(m["files"]), "file")),
        ("rows in files", number(m["rows_in_files"]), f"{number(m['deleted_rows'])} recorded as deleted"),
        ("buckets with files", number(m["buckets"]), f"in {counted(int(m['partitions']), 'partition')}"),
        (
            (
                "most sorted runs",
                number(m["most_sorted_runs"]),
                f"{counted(int(m['level_0_files']), 'file')} in level 0",
            )
            if facts.context.is_keyed
            else ("files that are not needed", number(m["avoidable_files"]), "a full compaction saves them")
        ),
        ("a full scan reads", size(m["scan_bytes"]), counted(int(m["scan_requests"]), "request")),
        ("read amplification", no_live or f"{m['read_amplification']:.2f}", "cost, by cost after a compaction"),
        ("space amplification", no_live or f"{m['space_amplification']:.2f}", "bytes held, by live bytes"),
        (
            ("write amplification", f"{m['write_amplification']:.2f}", "written with compactions, by without")
            if held.written
            else ("write amplification", UNKNOWN, "no snapshot that exists wrote a file")
        ),
        (
            (
                "new bytes a day",
                size(m["written_bytes_a_day"]),
                f"in {age:,.1f} days" if age >= 1 else "in less than a day",
            )
            if held.versions
            else ("new bytes a day", UNKNOWN, "no snapshot exists")
        ),
        ("held by old snapshots", size(held.snapshots), counted(held.snapshot_count, "snapshot")),
        ("held by tags", size(m["tag_bytes"]), counted(len(held.tags), "tag")),
        ("held by branches", size(m["branch_bytes"]), counted(len(held.branches), "branch", "branches")),
        ("consumers", number(m["consumers"]), "streaming readers with a position"),
        ("metadata", size(m["manifest_bytes"]), counted(int(m["manifests"]), "manifest")),
    ]
    parts = (
        f"<div>{element('dt', name)}<dd>{escaped(value)}{element('small', more)}</dd></div>"
        for name, value, more in values
    )
    return f'<dl class="numbers">{"".join(parts)}</dl>'


def _finding(one: Finding, level: int) -> str:
    cost = f"Costs as much as {size(one.cost_bytes)} more in each full scan, or in storage. " if one.cost_bytes else ""
    safe = "It is safe: all that can be read stays readable." if one.safe else "Read before what it removes or changes."
    head = f"{element('span', one.severity, 'severity')} {escaped(one.name)}"
    parts = [
        f"<h{level}>{head}</h{level}>",
        element("p", one.text),
        element(
            "p",
            f"{cost}Measured {number(one.measure)}, threshold {number(one.threshold)} ({one.threshold_from}).",
            "muted",
        ),
        f"<p>Mend: {element('code', one.command)}</p>",
        element("p", f"The mend {one.mend_cost}. {safe}", "muted"),
    ]
    if one.yaml:
        parts.append(f"<p>To prevent it:</p><pre>{element('code', one.yaml)}</pre>")
    return f'<article class="finding {escaped(one.severity)}">{"".join(parts)}</article>'
