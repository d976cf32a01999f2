"""page: the HTML text of one table, or of many tables."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

from paimon_core.health.check import health_of
from paimon_core.health.facts import facts_of
from paimon_core.health.finding import Health, Severity
from paimon_core.health.page.markup import element, table_of
from paimon_core.health.page.section import section_body, table_name
from paimon_core.health.page.style import style_sheet
from paimon_core.health.page.texts import counted, escaped, moment, number, size
from paimon_core.health.thresholds import Thresholds
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot

MOST_SECTIONS = 50
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a browser may load: nothing, so the page can neither run a script nor make a request."""
_HEADER = ("table", "score", "live data", "files", "rows in files", "new a day", "read", "space", "findings")


def table_page(context: TableContext, snapshot: Snapshot | None) -> str:
    """Return the page of one version of a table.

    Raises SnapshotNotFound when the version expires during the call, CorruptTable for metadata that cannot be read.
    """
    facts = facts_of(context, snapshot, Thresholds())
    health = health_of(facts)
    name = table_name(health)
    return _document(f"Health of {name}", element("h1", name) + section_body(facts, health, 2))


@dataclass
class LakePage:
    """The page of many tables: ``add`` each of them, then ask for ``text``."""

    title: str
    healths: list[Health] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    """Names of tables that could not be examined, with their errors."""
    _sections: list[tuple[int, str, str]] = field(default_factory=list)
    """Score, name and markup of the worst tables so far, the worst first."""

    def add(self, context: TableContext, snapshot: Snapshot | None) -> None:
        """Examine a table and add it; nothing is added when this raises SnapshotNotFound or CorruptTable."""
        facts = facts_of(context, snapshot, Thresholds())
        health = health_of(facts)
        place = (health.score, health.table)
        if len(self._sections) < MOST_SECTIONS or place < self._sections[-1][:2]:
            insort(self._sections, (*place, section_body(facts, health, 3)))
            del self._sections[MOST_SECTIONS:]
        self.healths.append(health)

    def fail(self, name: str, error: str) -> None:
        """Add a table that could not be examined."""
        self.failures.append((name, error))

    def text(self) -> str:
        """Return the page."""
        healths = sorted(self.healths, key=lambda one: (one.score, one.table))
        parts = [element("h1", self.title), element("p", _summary(healths, self.failures), "muted")]
        if self.failures:
            parts.append(element("p", f"{counted(len(self.failures), 'table')} could not be examined.", "error"))
        anchors = {name: f"table-{n}" for n, (_, name, _) in enumerate(self._sections, 1)}
        if len(healths) > len(anchors):
            parts.append(
                element("p", f"Only the {number(len(anchors))} tables with the lowest scores have sections below.")
            )
        if healths or self.failures:
            parts.append(_overview(healths, self.failures, anchors))
        by_name = {one.table: one for one in healths}
        for _, name, markup in self._sections:
            heading = element("h2", table_name(by_name[name]))
            parts.append(f'<section class="of-table" id="{anchors[name]}">{heading}{markup}</section>')
        return _document(self.title, "".join(parts))


def _summary(healths: list[Health], failures: list[tuple[str, str]]) -> str:
    ill = sum(not health.is_healthy for health in healths)
    total = sum(health.measures["live_bytes"] for health in healths)
    return (
        f"{counted(len(healths) + len(failures), 'table')}, {number(ill)} with findings; {size(total)} of live data "
        f"files. The lowest score comes first. Examined {moment(clock.now_millis())}."
    )


def _overview(healths: list[Health], failures: list[tuple[str, str]], anchors: dict[str, str]) -> str:
    rows = []
    for health in healths:
        m, name = health.measures, escaped(table_name(health))
        anchor = anchors.get(health.table)
        linked = f'<a href="#{anchor}">{name}</a>' if anchor else name
        cells = (
            number(health.score),
            size(m["live_bytes"]),
            number(m["files"]),
            number(m["rows_in_files"]),
            size(m["written_bytes_a_day"]) if m["snapshots"] else "not known",
            f"{m['read_amplification']:.2f}" if m["live_bytes"] else "not known",
            f"{m['space_amplification']:.2f}" if m["live_bytes"] else "not known",
        )
        numbers = "".join(element("td", cell, "n") for cell in cells)
        rows.append(f'<tr><td class="name">{linked}</td>{numbers}{element("td", _found(health))}</tr>')
    for failed, error in sorted(failures):
        cell = f'<td class="error" colspan="{len(_HEADER) - 1}">{escaped(error)}</td>'
        rows.append(f"<tr>{element('td', failed, 'name')}{cell}</tr>")
    return table_of("Tables by score", _HEADER, [name not in ("table", "findings") for name in _HEADER], "".join(rows))


def _found(health: Health) -> str:
    errors = sum(finding.severity is Severity.ERROR for finding in health.findings)
    warnings = len(health.findings) - errors
    parts = [counted(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    return ", ".join(parts) or "none"


def _document(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"{element('title', title)}<style>{style_sheet()}</style></head>\n<body><main>{body}</main></body></html>\n"
    )
