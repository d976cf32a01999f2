"""Rules about manifests, file indexes and options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from paimon_core.health.cost import REQUEST_BYTES
from paimon_core.health.facts import Facts
from paimon_core.health.finding import Finding, Severity
from paimon_core.health.places import megabytes
from paimon_core.health.rules.files import RUNS_TRIGGER
from paimon_core.options.file_index_options import IndexedColumn

SMALL_TARGET = 8 << 20
"""Files of this size take about as long to open as to read on an object store."""


def many_manifests(facts: Facts) -> Iterator[Finding]:
    """Find versions with many manifests, or whose manifests mostly list deleted files."""
    limits, count = facts.thresholds, len(facts.manifests)
    files, entries = facts.layout.total_files, facts.entries
    is_dead = entries >= limits.dead_entries_ratio * max(files, 1) and entries - files >= 1000
    size = sum(m.file_size for m in facts.manifests)
    needed = -(-size // max(1, facts.context.options["manifest.target-file-size"]))
    is_many = count >= max(2, limits.manifests, 2 * needed)  # a version of many files needs many manifests
    if not is_many and not is_dead:
        return
    yield Finding(
        name="many-manifests",
        severity=Severity.WARNING,
        measure=count if not is_dead else round(entries / max(files, 1), 1),
        threshold=limits.manifests if not is_dead else limits.dead_entries_ratio,
        threshold_from="manifests" if not is_dead else "dead_entries_ratio",
        text=f"{count:,} manifests of {megabytes(size)} have {entries:,} entries for {files:,} live files: each plan "
        "that is not cached reads them",
        commands=(facts.command("compact-manifests"),),
        mend_cost=f"reads {megabytes(size)} and writes the entries of {files:,} files",
        cost_bytes=int(size * (1 - min(1.0, files / max(entries, 1)))) + (count - 1) * REQUEST_BYTES,
        safe=True,
    )


def useless_indexes(facts: Facts) -> Iterator[Finding]:
    """Find file indexes of columns by which files are chosen without an index."""
    schema = facts.context.schema
    first = schema.trimmed_primary_keys[:1]
    indexed = facts.context.options.file_indexes
    useless = sorted({one.column for one in indexed if one.column in schema.partition_keys or one.column in first})
    if not useless:
        return
    names = ", ".join(useless)
    changes = without_indexes(indexed, useless)
    yield Finding(
        name="useless-index",
        severity=Severity.WARNING,
        measure=len(useless),
        threshold=0,
        threshold_from="always a finding",
        text=f"columns {names} have a file index, but a partition column or the first column of the primary key "
        "chooses files by partitions and key ranges: each written file pays for an index that finds nothing more",
        commands=(facts.command("alter", *changes),),
        mend_cost="writes a new schema: new files have no such index; existing files keep it until they are rewritten",
        cost_bytes=0,
        arguments={"changes": changes},
    )


def without_indexes(indexed: Sequence[IndexedColumn], useless: Collection[str]) -> list[str]:
    """Return the changes of options that end the indexes of some columns and keep the others."""
    changes = []
    for kind in dict.fromkeys(one.kind for one in indexed if one.column in useless):
        left = [one.name for one in indexed if one.kind == kind and one.column not in useless]
        key = f"file-index.{kind}.columns"
        changes.append(
            "SET ('{}' = '{}')".format(key, ",".join(left).replace("'", "''")) if left else f"RESET ('{key}')"
        )
    return changes


def missing_indexes(facts: Facts) -> Iterator[Finding]:
    """Find tables that declare file indexes, but at least half of whose files have none."""
    if not facts.context.options.file_indexes or facts.snapshot is None:
        return
    without, files = int(facts.layout.without_index.sum()), facts.layout.total_files
    if files == 0 or 2 * without < files:
        return
    size = int(facts.layout.bytes[facts.layout.without_index > 0].sum())
    yield Finding(
        name="missing-indexes",
        severity=Severity.WARNING,
        measure=round(without / files, 2),
        threshold=0.5,
        threshold_from="half of the files",
        text=f"{without:,} of {files:,} files lack the file indexes that the options declare: filters on these columns "
        f"read {megabytes(size)} that they might leave out",
        commands=(facts.command("rewrite-file-index"),),
        mend_cost=f"reads the indexed columns of {megabytes(size)} and writes index files",
        cost_bytes=0,
        safe=True,
    )


def conflicting_options(facts: Facts) -> Iterator[Finding]:
    """Find options that are valid one by one, but together make the table grow or slow without a limit."""
    found = list(_conflicts(facts))
    if not found:
        return
    texts, changes = [text for text, _ in found], [change for _, change in found]
    yield Finding(
        name="conflicting-options",
        severity=Severity.WARNING,
        measure=len(found),
        threshold=0,
        threshold_from="always a finding",
        text="; ".join(texts),
        commands=(facts.command("alter", *changes),),
        mend_cost="writes one new schema file; later writes and maintenance obey it",
        cost_bytes=0,
        arguments={"changes": changes},
    )


def _conflicts(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield (what is wrong, the change of options that mends it)."""
    options = facts.context.options
    is_keyed = facts.context.is_keyed
    if options["tag.automatic-creation"] != "none" and not (
        options["tag.num-retained-max"] or options["tag.default-time-retained"]
    ):
        yield (
            f"tag.automatic-creation = {options['tag.automatic-creation']} creates tags for ever, because neither "
            "tag.num-retained-max nor tag.default-time-retained is set",
            "SET ('tag.default-time-retained' = '90 d')",
        )
    each = options["full-compaction.delta-commits"]
    if is_keyed and each is not None and each <= 2 and options["changelog-producer"] != "full-compaction":
        yield (
            f"full-compaction.delta-commits = {each} rewrites all rows every {each} commits, although "
            f"{RUNS_TRIGGER} = {options[RUNS_TRIGGER]} allows runs",
            "RESET ('full-compaction.delta-commits')",
        )
    target = options.target_file_bytes(keyed=is_keyed)
    if target < SMALL_TARGET:
        yield (
            f"target-file-size = {megabytes(target)} makes compactions write small files",
            "RESET ('target-file-size')",
        )
    compacted = facts.held.rewritten > 0 or not facts.layout.level_0_files.any()
    trigger = int(options[RUNS_TRIGGER])
    if is_keyed and options["write-only"] and not compacted and int(np.max(facts.layout.runs, initial=0)) > 2 * trigger:
        yield (
            "write-only = true leaves compactions to another process, but no snapshot that exists was made by one",
            "SET ('write-only' = 'false')",
        )


METADATA_RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    many_manifests,
    useless_indexes,
    missing_indexes,
    conflicting_options,
)
