"""Bit rot: what readers and checks find of random damage to the files that this library wrote.

``python -m tests.fuzz.flips --mutations 2000`` damages each kind of file so many times, and prints the outcomes: a bit
is flipped, a page of 4 KiB is zeroed, the end is cut off or garbage is appended. ``found``: a reader or fsck reports
it. ``harmless``: every read is unchanged. ``silent``: rows or metadata differ, and nothing reports it.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import paimon_core as paimon
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.datafile.reading.reader import read_batches
from paimon_core.errors import PaimonError
from paimon_core.fsck.check import check_root
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.table_indexes.hash_file import read_hashes
from paimon_core.table_indexes.vector_file import read_vector
from tests.support import broken_tables as broken
from tests.support.broken_tables import real_table, some_rows

PAGE = 4096
BESIDE = {"file-index.in-manifest-threshold": "0 b"}
METADATA = ("snapshot", "schema", "tag", "hint", "list", "manifest")
ROWS = ("data", "changelog")
INDEXES = {
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors64": {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    "hash": {"bucket": "-1", "dynamic-bucket.target-row-num": "1500"},
    "bloom-filter": {
        "file-index.bloom-filter.columns": "k,v",
        "file-index.bloom-filter.k.items": "4000",
        "file-index.bloom-filter.v.items": "4000",
    },
    "bitmap": {"file-index.bitmap.columns": "k,v"},
    "bsi": {"file-index.bsi.columns": "k"},
    "range-bitmap": {"file-index.range-bitmap.columns": "k,v"},
    "index-manifest": {"deletion-vectors.enabled": "true", "bucket": "-1"},
}
"""Options of a table for each kind of index file; file indexes are beside the files."""
FORMATS = {
    "parquet": {},
    "parquet-none": {"file.format": "parquet", "file.compression": "none"},
    "orc": {"file.format": "orc"},
    "orc-none": {"file.format": "orc", "file.compression": "none"},
    "avro": {"file.format": "avro"},
    "avro-snappy": {"file.format": "avro", "file.compression": "snappy"},
    "avro-gzip": {"file.format": "avro", "file.compression": "gzip"},
    "avro-none": {"file.format": "avro", "file.compression": "none"},
}
"""Options of a table for each format and codec."""
MANIFEST_CODECS = ("zstd", "snappy", "deflate", "none")
MOST_SILENT = 0.003
"""The largest share of silent cases among the harmful ones, for data files; 0 for metadata."""


@dataclass
class Outcomes:
    """Counts of the outcomes for one kind of file, and a description of each silent case."""

    counts: Counter[str] = field(default_factory=Counter)
    silent: list[str] = field(default_factory=list)

    @property
    def detected(self) -> float:
        """The share of the harmful cases that were found."""
        harmful = self.counts["found"] + self.counts["silent"]
        return self.counts["found"] / harmful if harmful else 1.0


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes after one random damage; never the same bytes."""
    at = chance.randrange(len(data))
    match chance.choices(("flip", "zero", "cut", "append"), (85, 5, 5, 5))[0]:
        case "flip":
            return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        case "zero":
            start = at // PAGE * PAGE
            return data[:start] + bytes(len(data[start : start + PAGE])) + data[start + PAGE :]
        case "cut":
            return data[:at]
    return data + chance.randbytes(chance.randrange(1, 64))


def table_with_history(rows: int, **options: str) -> paimon.Table:
    """A table with several snapshots, a changelog, a delete, a compaction and a tag."""
    made = real_table(rows, **{"changelog-producer": "lookup", "write-only": "false", **options})
    made.tags.create("t")
    if options.get("bucket") != "-1":  # hashes of deleted keys stay, and no read shows whether they are right
        made.delete(paimon.col("k") < 20)
    made.write(some_rows(range(50, 90), "w"))
    made.compact(full=True)
    return made


def paths_of(context: TableContext, kind: str) -> list[str]:
    walk = [i.path for i in context.storage.walk(context.paths.root)]
    if kind in ROWS:
        files = [p for p in walk if p.endswith((".parquet", ".orc", ".avro"))]
        return [p for p in files if ("/changelog-" in p) == (kind == "changelog")]
    return {
        **{name: [p for p in walk if "/index/index-" in p or p.endswith(".index")] for name in INDEXES},
        "index-manifest": [p for p in walk if "/manifest/index-manifest-" in p],
        "snapshot": [p for p in walk if "/snapshot/snapshot-" in p],
        "schema": [p for p in walk if "/schema/" in p],
        "tag": [p for p in walk if "/tag/" in p],
        "hint": [p for p in walk if p.endswith("LATEST")],
        "list": [p for p in walk if "/manifest/manifest-list-" in p],
        "manifest": [p for p in walk if "/manifest/manifest-" in p and "-list-" not in p],
    }[kind]


def everything(context: TableContext) -> object:
    """Return all rows of all snapshots and tags, and all changes; raises for a table that cannot be read."""
    schema = TableContext.of("db.t", context.storage, context.paths.root, context.schema).schemas.latest()
    assert schema is not None
    table = paimon.Table(TableContext.of("db.t", context.storage, context.paths.root, schema))
    rows = [table.at(snapshot=i).scan().to_arrow() for i in table.context.snapshots.ids()]
    tags = [(t.name, table.at(tag=t.name).scan().to_arrow()) for t in table.tags.list()]
    return [r.sort_by("k") for r in rows], [(n, r.sort_by("k")) for n, r in tags], table.changes().to_arrow()


def rows_of_file(context: TableContext, path: str, entries: dict[str, DataFile]) -> object:
    """Return the rows of one data file, as deep checks read them."""
    fields, file = context.schema.file_fields, entries[path.rsplit("/", 1)[1]]
    request = FileRequest(threads=False)
    batches = read_batches(
        context.storage, path, file=file, file_schema=context.schema, read_fields=fields, request=request
    )
    return list(batches)


def data_files(context: TableContext) -> dict[str, DataFile]:
    found = {}
    for snapshot in map(context.snapshots.read, context.snapshots.ids()):
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list):
            for manifest in context.manifests.read_list(name) if name else ():
                found |= {e.file.file_name: e.file for e in context.manifests.read_manifest(manifest.file_name)}
    return found


def decoded(context: TableContext, kind: str, path: str, entries: dict[str, DataFile]) -> object:
    """Return the decoded contents of one file; raises when a reader refuses it."""
    name = path.rsplit("/", 1)[1]
    bare = broken.fresh(context)
    match kind:
        case "data" | "changelog":
            return rows_of_file(bare, path, entries)
        case "snapshot":
            return bare.snapshots.read(int(name.removeprefix("snapshot-")))
        case "schema":
            return bare.schemas.read(int(name.removeprefix("schema-")))
        case "tag":
            return bare.tags.read(name.removeprefix("tag-"))
        case "hint":
            return bare.snapshots.latest_id()
        case "list":
            return bare.manifests.read_list(name)
        case "index-manifest":
            return bare.manifests.read_indexes(name)
        case "vectors" | "vectors64" | "hash":
            return index_contents(bare, name)
        case "bloom-filter" | "bitmap" | "bsi" | "range-bitmap":
            return filtered(bare)
    return bare.manifests.read_manifest(name)


def index_contents(context: TableContext, name: str) -> object:
    """Return what an index file has according to each snapshot that references it."""
    found: list[object] = []
    for snapshot in map(context.snapshots.read, context.snapshots.ids()):
        for entry in context.manifests.read_indexes(snapshot.index_manifest):
            if entry.file.file_name == name and entry.file.vectors is None:
                found.append(read_hashes(context, entry.file).tolist())
            elif entry.file.file_name == name:
                found += [read_vector(context, name, v).tolist() for v in entry.file.vectors or ()]
    return found


def filtered(context: TableContext) -> object:
    """Return the rows that filters find, most of which one file has."""
    table, col = paimon.Table(context), paimon.col
    some = [col("k") == k for k in (0, 21, 55, 70, 777, 3999)]
    some += [col("v") == f"w{k}" for k in (50, 77)] + [col("v") == "v3000", (col("k") > 60) & (col("k") < 64)]
    return [sorted(r["k"] for r in table.scan(where=where).to_arrow().to_pylist()) for where in some]


def outcome(
    context: TableContext, intact: object, read: Callable[[], object], whole: object, *, is_read: bool = True
) -> str:
    """Return ``found``: a reader or fsck reports it; ``harmless``: every read is unchanged; else ``silent``.

    ``is_read``: whether reads of all rows use the file.
    """
    try:
        if read() == intact:
            return "harmless"
        if not check_root("db.t", context.storage, context.paths.root).is_clean:
            return "found"
        if is_read and everything(context) == whole:
            return "harmless"
        return "silent" if check_root("db.t", context.storage, context.paths.root, deep=True).is_clean else "found"
    except PaimonError:
        return "found"


def measure(table: paimon.Table, kind: str, mutations: int, seed: int = 19) -> Outcomes:
    """Damage files of this kind so many times; each time only one is damaged."""
    context, chance = table.context, random.Random(f"{seed} {kind}")
    paths, found = paths_of(context, kind), Outcomes()
    entries, whole = data_files(context), everything(context)
    intact = {p: (context.storage.read(p), decoded(context, kind, p, entries)) for p in paths}
    is_read = kind not in INDEXES or kind.startswith("vectors") or kind == "index-manifest"
    for _ in range(mutations):
        path = chance.choice(paths)
        data, before = intact[path]
        bad = damaged(data, chance)
        context.storage.overwrite(path, bad)
        result = outcome(
            context, before, lambda path=path: decoded(context, kind, path, entries), whole, is_read=is_read
        )
        context.storage.overwrite(path, data)
        found.counts[result] += 1
        if result == "silent":
            at = next((i for i, (a, b) in enumerate(zip(data, bad, strict=False)) if a != b), len(bad))
            found.silent.append(f"{path}, byte {at} of {len(data)}: {data[max(0, at - 30) : at + 30]!r}")
    return found


def campaign(mutations: int, seed: int, only: str = "") -> bool:
    """Print the outcomes of each kind of file; return whether all are within the limits."""
    good = True
    cases = [
        ("metadata", f"manifest.compression={codec}", {"manifest.compression": codec}) for codec in MANIFEST_CODECS
    ]
    cases += [("rows", name, options) for name, options in FORMATS.items()]
    cases += [("index", name, options | BESIDE) for name, options in INDEXES.items()]
    for group, name, options in cases:
        kinds: Sequence[str] = (
            (name,)
            if group == "index"
            else ROWS
            if group == "rows"
            else METADATA
            if "zstd" in name
            else ("list", "manifest")
        )
        table = None
        for kind in kinds:
            if not f"{kind} {name}".startswith(only):
                continue
            table = table or table_with_history(40 if group == "metadata" else 4000, **options)
            found = measure(table, kind, mutations, seed)
            counts = found.counts
            good &= counts["silent"] == 0 if group != "rows" else 1 - found.detected <= MOST_SILENT
            sys.stdout.write(
                f"{kind:9} {name:30} found {counts['found']:6} harmless {counts['harmless']:6} silent "
                f"{counts['silent']:4} detected {found.detected:.2%}\n"
            )
            sys.stdout.write("".join(f"  {text}\n" for text in found.silent[:5]))
            sys.stdout.flush()
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.fuzz.flips", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mutations", type=int, default=500, help="for each kind of file")
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--only", default="", help="a part of the kind and the format, such as 'data avro'")
    asked = parser.parse_args()
    raise SystemExit(0 if campaign(asked.mutations, asked.seed, asked.only) else 1)
