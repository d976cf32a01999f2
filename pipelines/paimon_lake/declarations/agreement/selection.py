"""Selection: the tables that selectors name, in the order in which they are loaded.

A selector is the name of a table, ``tag:NAME`` for all tables with this tag, ``group:NAME`` for the tables of a group,
or ``changed`` for the tables whose definitions differ from an earlier folder. ``+`` before it adds the tables from
which these are made, ``+`` after it the tables that are made from these; both directions are followed to their ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from paimon_lake.declarations.agreement.order import in_order
from paimon_lake.declarations.agreement.tables import tables_before
from paimon_lake.declarations.errors import SettingsError, nearest
from paimon_lake.declarations.lake.groups import GROUP
from paimon_lake.declarations.settings import Settings
from paimon_lake.declarations.table import TableSpec

CHANGED = "changed"
_TAG = "tag:"


def selected(settings: Settings, selectors: Collection[str], changed: Collection[str] = ()) -> list[str]:
    """Return the names of the tables that the selectors name, each after its inputs and the tables that it looks up.

    ``changed``: the tables that the selector ``changed`` names. Raises SettingsError for a table that is not declared
    and for a tag that no table has.
    """
    chosen: set[str] = set()
    for selector in selectors:
        word = _word(selector)
        if word == CHANGED:
            names = list(changed)
        else:
            names = _named(settings, word)
        before = with_inputs(settings.tables, names) if selector.startswith("+") else set()
        after = with_readers(settings.tables, names) if selector.endswith("+") else set()
        chosen |= {*names, *before, *after}
    return ordered(settings.tables, chosen)


def has_changed(selectors: Iterable[str]) -> bool:
    """Whether one of the selectors is ``changed``."""
    return any(_word(selector) == CHANGED for selector in selectors)


def _word(selector: str) -> str:
    return selector.removeprefix("+").removesuffix("+")


def ordered(tables: Mapping[str, TableSpec], names: Collection[str]) -> list[str]:
    """Return the names so that each follows its inputs and the tables that it looks up."""
    return [name for group in in_order(tables) for name in group if name in names]


def with_inputs(tables: Mapping[str, TableSpec], names: Iterable[str]) -> set[str]:
    """Return tables, and all tables from which they are made or in which they look up columns, through all steps."""
    return _reached({name: tables_before(spec) for name, spec in tables.items()}, names)


def with_readers(tables: Mapping[str, TableSpec], names: Iterable[str]) -> set[str]:
    """Return tables, and all tables that are made from them or look up columns in them, through all steps."""
    readers: dict[str, list[str]] = {name: [] for name in tables}
    for name, spec in tables.items():
        for one in tables_before(spec):
            readers.setdefault(one, []).append(name)
    return _reached(readers, names)


def _reached(steps: Mapping[str, Collection[str]], names: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += steps.get(name, ())
    return found


def _named(settings: Settings, word: str) -> list[str]:
    if word.startswith(GROUP):
        return list(settings.group(word.removeprefix(GROUP)).tables)
    return _with_tag(settings, word) if word.startswith(_TAG) else [settings.table(word).name]


def _with_tag(settings: Settings, word: str) -> list[str]:
    tag = word.removeprefix(_TAG)
    found = [name for name, spec in settings.tables.items() if tag in spec.tags]
    if not found:
        known = sorted({one for spec in settings.tables.values() for one in spec.tags})
        listed = f"the tags are {', '.join(known)}" if known else "no declaration has the key tags"
        raise SettingsError(f"no table has the tag {tag!r:.80}: {listed}{nearest(tag, known)}")
    return found
