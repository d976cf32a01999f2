"""Sampled file: a text file that counts how many of its bytes were read, and what a sample of a file shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_lake.sources.files.forcing_value import ForcingValue
from paimon_lake.sources.files.listing import open_source_file
from paimon_lake.sources.files.text.blocks import TextFile


@dataclass(frozen=True)
class Sample:
    """The columns of a file, and how much of the file they were inferred from."""

    columns: Mapping[str, str]
    """The text of the Paimon type of each column, in the order of the file."""
    rows: int | None
    """The number of rows read; None when the types come from the file's own schema, which holds for all of its rows."""
    bytes: int
    """The number of bytes of the file that were read, before they are unpacked; 0 when no row was read."""
    is_whole: bool
    """Whether the types hold for all rows of the file."""
    nulls: tuple[str, ...] = ()
    """The columns, and the members such as ``a.b`` and ``a[]``, that have no value in the rows read."""
    forced: Mapping[str, ForcingValue] = field(default_factory=dict)
    """The values because of which columns and members are STRING although most of their values fit another type."""
    firsts: Mapping[str, ForcingValue] = field(default_factory=dict)
    """The first value of each column, with the type of the column in this file."""


@dataclass(frozen=True)
class SampledFile(TextFile):
    """A text file that counts the bytes that were read since it was opened last."""

    _reached: list[int] = field(default_factory=lambda: [0], repr=False, compare=False)

    @property
    def reached(self) -> int:
        """The position in the stored bytes that the last reader reached."""
        return self._reached[0]

    @contextmanager
    def open(self) -> Iterator[pa.NativeFile]:
        """Open the file's uncompressed bytes; raises PipelineError as ``open_source_file`` does."""
        with open_source_file(self.split.file, self.storage_options) as opened:
            try:
                yield opened if self.compression is None else pa.CompressedInputStream(opened, self.compression)
            finally:
                self._reached[0] = opened.tell()
