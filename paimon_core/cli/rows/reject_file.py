"""Reject file: the rows of an import that do not fit, with their reasons."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from paimon_core.cli.output.cells import json_value
from paimon_core.errors import AfterCommitFailed, CommitStateUnknown, InvalidRequest, PaimonError
from paimon_core.files.file_format import FileFormat

if TYPE_CHECKING:
    from paimon_core.files.rejects import Reject


_COMMITTED = (CommitStateUnknown, AfterCommitFailed)
"""Errors after which the rows are in the table, or may be."""


class Rejects:
    """The file of rejects: one JSON object on each line, with the file, the place, the column, the reason and the row.

    The file appears under its name when all rows were read, and only if there are rejects. An error in the ``with``
    block removes it, unless the rows were committed or may have been; then the error names it.
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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        with contextlib.suppress(OSError):  # a full disk; ``add`` or ``publish`` has raised the error before
            self._file.close()
        is_withdrawn = self._is_published and isinstance(error, PaimonError) and not isinstance(error, _COMMITTED)
        for path in (self._part, *([self._path] if is_withdrawn else [])):
            with contextlib.suppress(OSError):
                path.unlink()
        if error is not None and self._is_published and not is_withdrawn:
            is_sure = isinstance(error, AfterCommitFailed)
            rows = (
                "the other rows were committed" if is_sure else "it is not known whether the other rows were committed"
            )
            note = f"rejected rows are in {self._path}; {rows}"
            if isinstance(error, PaimonError):
                raise type(error)(f"{error.message}; {note}", **error.facts) from error
            error.add_note(note)

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
