"""Row ranges: the files of a table with data evolution that together contain the columns of some rows (format 17).

An update of some columns adds a file with these columns and with the row ids of an existing file. The existing file
stays live.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from paimon_core.errors import CorruptTable
from paimon_core.metadata.data_file import DataFile
from paimon_core.plan.split import Packed, Packing, layout_of
from paimon_core.schema import TableSchema

Group = tuple[DataFile, ...]
"""The files of one range of row ids, the newest first."""


def row_ranges(files: Collection[DataFile]) -> list[Group]:
    """Return the files of a bucket in groups: one group for each range of row ids, in the order of the row ids.

    Raises CorruptTable for a file without row ids, and for ranges that overlap but are not equal.
    """
    groups: list[list[DataFile]] = []
    end = -1
    for file in sorted(files, key=_first_row):
        if groups and _first_row(file) < end:
            known = groups[-1][0]
            if (known.first_row_id, known.row_count) != (file.first_row_id, file.row_count):
                raise CorruptTable(
                    f"files {known.file_name} and {file.file_name} have different but overlapping row ids: "
                    f"{known.row_count} from {known.first_row_id} and {file.row_count} from {file.first_row_id}",
                    file=file.file_name,
                )
            groups[-1].append(file)
        else:
            groups.append([file])
            end = _first_row(file) + file.row_count
    return [tuple(sorted(group, key=lambda f: -f.max_sequence_number)) for group in groups]


def _first_row(file: DataFile) -> int:
    if file.first_row_id is None:
        raise CorruptTable(
            f"file {file.file_name} has no row ids, although option data-evolution.enabled is true", file=file.file_name
        )
    return file.first_row_id


def anchor(group: Group) -> DataFile:
    """Return the oldest file of a group: its deletion vector applies to the rows of the whole group."""
    return min(group, key=lambda f: (f.max_sequence_number, f.file_name))


def column_ids(file: DataFile, schema: TableSchema) -> frozenset[int]:
    """Return the ids of the columns that a file of ``schema`` contains."""
    return frozenset(f.id for f in schema.fields if file.write_cols is None or f.name in file.write_cols)


def pack_ranges(
    files: Collection[DataFile], packing: Packing, may_match: Callable[[Group], bool] | None = None
) -> list[Packed]:
    """Return the splits of a bucket, without the ranges that cannot match.

    A split is raw if each of its ranges has only one file. Otherwise each range is a section in its layout, and each
    file of the range is a run, the newest first. Raises CorruptTable as ``row_ranges`` does.
    """
    groups = [group for group in row_ranges(files) if may_match is None or may_match(group)]
    packed = packing.pack(groups, lambda group: sum(f.file_size for f in group))
    return [_with_layout(some) for some in packed]


def _with_layout(groups: Sequence[Group]) -> Packed:
    files = tuple(file for group in groups for file in group)
    if len(files) == len(groups):
        return files, ()
    return files, layout_of([1] * len(group) for group in groups)
