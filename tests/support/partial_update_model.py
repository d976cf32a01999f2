"""A model of partial-update that works row by row, to compare with the implementation on whole columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ADD, UPDATE_BEFORE, UPDATE_AFTER, DELETE = 0, 1, 2, 3
Row = dict[str, Any]


class Refused(Exception):
    """The rows cannot be merged."""


class Fold:
    """The aggregate function of one column, with its state: ``agg`` adds a value, ``retract`` removes one."""

    def __init__(self, name: str, *, ignore_retract: bool = False) -> None:
        self.name = name
        self.ignore_retract = ignore_retract
        self.begun = False

    def agg(self, state: Any, value: Any) -> Any:
        match self.name:
            case "last_value":
                return value
            case "first_value" | "first_non_null_value":
                if not self.begun and (value is not None or self.name == "first_value"):
                    self.begun = True
                    return value
                return state
            case "last_non_null_value":
                return state if value is None else value
        if state is None or value is None:
            return value if state is None else state
        match self.name:
            case "sum":
                return state + value
            case "max":
                return max(state, value)
            case "listagg":
                return f"{state},{value}"
            case "collect":
                return [*state, *value]
            case "merge_map":
                return {**state, **value}
        raise NotImplementedError(self.name)

    def reversed(self, state: Any, value: Any) -> Any:
        if self.name == "collect" and not self.ignore_retract:
            return self.agg(state, value)
        return self.agg(value, state)

    def retract(self, state: Any, value: Any) -> Any:
        if self.ignore_retract:
            return state
        match self.name:
            case "last_value":
                return None
            case "last_non_null_value":
                return state if value is None else None
            case "sum":
                if state is None or value is None:
                    return state if state is not None else None if value is None else -value
                return state - value
            case "merge_map":
                if state is None or not value:
                    return state
                return {k: v for k, v in state.items() if k not in value}
            case "collect":
                if state is None or value is None:
                    return state
                left = list(value)
                return [item for item in state if item not in left or left.remove(item)]
        raise Refused(self.name)


@dataclass
class PartialUpdateModel:
    """``groups`` maps ordering columns to protected ones; ``functions`` are (name, ignore_retract) by column."""

    columns: Sequence[str]
    groups: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    functions: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    ignore_delete: bool = False
    remove_on_delete: bool = False
    removing: frozenset[str] = frozenset()

    def merge(self, records: Sequence[tuple[int, int, Row]]) -> tuple[int, int, Row]:
        """Merge the (kind, sequence number, values) of one key, given in merge order, into one."""
        if len(records) == 1:
            return records[0]
        folds = {c: Fold(name, ignore_retract=ignore) for c, (name, ignore) in self.functions.items()}
        state: Row = dict.fromkeys(self.columns)
        sequence, filled, added, removed = 0, False, False, False
        for kind, number, row in records:
            removed = False
            if kind in (ADD, UPDATE_AFTER):
                sequence, filled, added = number, True, True
                self._add(state, row, folds)
                continue
            if not filled:
                state, filled = dict(row), True
            if self.ignore_delete:
                continue
            sequence = number
            if self.groups:
                if kind == DELETE and self._removes(state, row):
                    state, removed = dict(row), True
                else:
                    self._retract(state, row, folds)
            elif self.remove_on_delete:
                if kind == DELETE:
                    state, removed = dict(row), True
            else:
                raise Refused("retract")
        return (DELETE if removed or not added else ADD), sequence, state

    def _add(self, state: Row, row: Row, folds: Mapping[str, Fold]) -> None:
        grouped = {c for ordering, protected in self.groups.items() for c in (*ordering, *protected)}
        for column in self.columns:
            if column not in grouped and row[column] is not None:
                state[column] = row[column]
        for ordering, protected in self.groups.items():
            if all(row[c] is None for c in ordering):
                continue
            newer = _order(row, ordering) >= _order(state, ordering)
            for column in protected:
                fold = folds.get(column)
                if fold is not None:
                    state[column] = (fold.agg if newer else fold.reversed)(state[column], row[column])
                elif newer:
                    state[column] = row[column]
            if newer:
                state |= {c: row[c] for c in ordering}

    def _retract(self, state: Row, row: Row, folds: Mapping[str, Fold]) -> None:
        for ordering, protected in self.groups.items():
            if all(row[c] is None for c in ordering):
                continue
            newer = _order(row, ordering) >= _order(state, ordering)
            for column in protected:
                if column in folds:
                    state[column] = folds[column].retract(state[column], row[column])
                elif newer:
                    state[column] = None
            if newer:
                state |= {c: row[c] for c in ordering}

    def _removes(self, state: Row, row: Row) -> bool:
        return any(
            self.removing & {*ordering}
            and any(row[c] is not None for c in ordering)
            and _order(row, ordering) >= _order(state, ordering)
            for ordering in self.groups
        )


def _order(row: Row, ordering: Sequence[str]) -> list[tuple[bool, Any]]:
    return [(row[c] is not None, 0 if row[c] is None else row[c]) for c in ordering]
