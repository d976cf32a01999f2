"""Import command: writes the rows of files of other programs to a table, in one commit."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.cli.adding import key_values
from paimon_core.cli.catalogs import table_of
from paimon_core.cli.cells import counted, json_value
from paimon_core.cli.output import Output
from paimon_core.errors import CommitConflict, InvalidRequest
from paimon_core.files.file_format import COMPRESSIONS, FileFormat
from paimon_core.progress_meter import meter

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.files.rejects import Reject

REJECTED = 3
"""The exit code of an import that wrote rows and put others into the file of rejects."""
_KINDS = {".parquet": "parquet", ".pq": "parquet", ".orc": "orc", ".csv": "csv", ".json": "json", ".jsonl": "json"}
_KINDS |= {".ndjson": "json"}


def import_files(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Write the rows of files to a table in one commit; return ``REJECTED`` when rows were rejected, else 0.

    Without ``--rejects`` a row that does not fit is an error, and nothing is written.
    """
    from paimon_core.files.columns import written_fields
    from paimon_core.files.reading import FileRules, read_split
    from paimon_core.files.splits import cut_files, list_files

    table = table_of(catalog, args)
    form = FileFormat.of(args.format or kind_of(args.file[0]), _options(args.file_option))
    fields = written_fields(table.schema, args.columns, table.name)
    rejects = None if args.rejects is None else Rejects(args.rejects, form)
    receive = None if rejects is None else rejects.add
    rules = FileRules(form, fields, table.schema.fields, is_exact=args.columns is None, receive=receive)
    splits = [split for part in cut_files(list_files(args.file, None), form, 1) for split in part]
    read = [0]
    progress = meter("import", "bytes", sum(split.end - split.start for split in splits))

    def rows() -> Iterator[pa.RecordBatch]:
        for split in splits:
            for piece in read_split(split, rules):
                read[0] += len(piece)
                yield from piece.to_batches()
            progress.advance(split.end - split.start)
        progress.complete()
        if rejects is not None:
            rejects.publish()  # before the commit: a row is in the table or in this file

    data = pa.RecordBatchReader.from_batches(table.arrow_schema.remove_metadata(), rows())
    with rejects or contextlib.nullcontext():
        is_overwrite = args.overwrite or args.overwrite_where is not None
        snapshot = table.overwrite(data, args.overwrite_where) if is_overwrite else table.write(data)
    result = {"table": table.name, "rows": read[0], "snapshot": None if snapshot is None else snapshot.id}
    done = "nothing was committed" if snapshot is None else f"snapshot {snapshot.id}"
    files = len({split.file.path for split in splits})
    absent = [name for name in table.schema.names if name not in {field.name for field in fields}]
    note = f"; null or the default: {', '.join(absent)}" if absent and snapshot is not None else ""
    number = 0 if rejects is None else rejects.number
    if number:
        note += f"; {counted(number, 'row')} rejected, with the reasons in {args.rejects}"
    text = f"{counted(read[0], 'row')} of {counted(files, 'file')}: {done}{note}"
    out.say(text, {**result, "columns_not_read": absent, "rejected": number})
    return REJECTED if number else 0


class Rejects:
    """The file of rejects: one JSON object on each line, with the file, the place, the column, the reason and the row.

    The file appears under its name when all rows were read, and only if there are rejects. An error in the ``with``
    block removes it, unless the rows may have been committed.
    """

    def __init__(self, path: Path, form: FileFormat) -> None:
        if form.kind == "csv" and form.multiline:
            raise InvalidRequest("--rejects needs rows of one line: the file option multiline is not supported with it")
        if path.exists():
            raise InvalidRequest(f"file {path} exists: --rejects writes a new file")
        self.number, self._is_published = 0, False
        self._path, self._part = path, path.with_name(f".{path.name}.{os.getpid()}")

    def __enter__(self) -> Rejects:
        """Open the file under another name; raises InvalidRequest when it cannot be written."""
        try:
            self._file = self._part.open("x", encoding="utf-8", newline="\n")
        except OSError as error:
            raise InvalidRequest(f"cannot write {self._path}: {error.strerror}") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with contextlib.suppress(OSError):  # a full disk; ``add`` or ``publish`` has raised the error before
            self._file.close()
        is_withdrawn = self._is_published and kind is not None and issubclass(kind, (InvalidRequest, CommitConflict))
        for path in (self._part, *([self._path] if is_withdrawn else [])):
            with contextlib.suppress(OSError):
                path.unlink()

    def add(self, reject: Reject) -> None:
        """Write one row that does not fit; raises InvalidRequest when the file cannot be written."""
        found = {
            "file": reject.file,
            "place": reject.place,
            "column": reject.column,
            "reason": reject.reason,
            "row": json_value(reject.row),
        }
        try:
            self._file.write(json.dumps(found, ensure_ascii=False) + "\n")
        except OSError as error:
            raise InvalidRequest(f"cannot write {self._path}: {error.strerror}") from None
        self.number += 1

    def publish(self) -> None:
        """Give the file its name; raises InvalidRequest when it cannot be written."""
        if not self.number:
            return
        try:
            self._file.flush()
            os.link(self._part, self._path)  # unlike a rename, this replaces no file
            self._is_published = True
        except OSError as error:
            raise InvalidRequest(f"cannot write {self._path}: {error.strerror}") from None


def kind_of(path: str) -> str:
    """Return the format of a file by the ending of its name; raises InvalidRequest for an unknown ending."""
    name = path.lower()
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending)
    kind = _KINDS.get(os.path.splitext(name)[1])
    if kind is None:
        known = ", ".join(sorted(_KINDS))
        raise InvalidRequest(f"the name {path} does not tell the format ({known}): add --format")
    return kind


def _options(texts: list[str]) -> dict[str, Any]:
    found = key_values("--file-option", texts)
    return {key: {"true": True, "false": False}.get(value.lower(), value) for key, value in found.items()}
