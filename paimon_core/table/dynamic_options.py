"""Dynamic options: options that apply to one handle of a table and are not stored."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.alter.definition_rules import check_dynamic
from paimon_core.alter.option_rules import check_option_change
from paimon_core.errors import InvalidOption
from paimon_core.metadata.context import TableContext
from paimon_core.options import OptionValue, option_texts
from paimon_core.options.option import Support
from paimon_core.options.registry import OLDER_NAMES, current_name, option_of
from paimon_core.options.scan_position import POSITIONS

_POSITIONS = (*POSITIONS, *(older for older, key in OLDER_NAMES.items() if key in POSITIONS))


def selects_snapshot(options: Mapping[str, OptionValue]) -> bool:
    """Whether one of the options, such as ``scan.snapshot-id``, selects the snapshot that reads use."""
    return any(current_name(key) in POSITIONS for key in options)


def with_dynamic_options(context: TableContext, options: Mapping[str, OptionValue]) -> TableContext:
    """Return the table with ``options``, which replace stored options of the same name.

    When ``options`` select a snapshot, all other options of the table that select a snapshot are unset.

    Raises InvalidOption for an option that cannot change, that all handles of a table must share, that this library
    does not use, or that has a bad value.
    """
    given = {current_name(key): text for key, text in option_texts(options).items()}
    for key, text in given.items():
        _check(context, key, text)
    changed: dict[str, str | None] = {**context.dynamic, **given}
    if selects_snapshot(given):
        # unset also options that the table does not have now: an alteration may store them while the handle is in use
        changed |= {key: None for key in _POSITIONS if key not in given}
    found = context.with_dynamic(changed)
    check_dynamic(context, found)
    return found


def _check(context: TableContext, key: str, text: str) -> None:
    option = option_of(key)
    check_option_change(context.schema, key, text, has_snapshots=True)
    problem = ""
    if option is None:
        problem = "it is not an option of Paimon"
    elif option.support is not Support.OBEYED:
        problem = "this library does not use it"
    elif option.shared and text != context.schema.options.get(key):
        problem = "all handles of a table need the same value; alter the table"
    if problem:
        raise InvalidOption(
            f"table {context.name}: option {key!r} = {text!r:.80} cannot be set for one handle: {problem}",
            option=key,
            value=text,
        )
