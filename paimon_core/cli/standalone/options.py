"""Options: lists and explains the options of tables."""

from __future__ import annotations

import argparse

from paimon_core.cli.output.output import Output
from paimon_core.errors import InvalidOption
from paimon_core.options.option import Option
from paimon_core.options.registry import KNOWN, OPTIONS, option_of
from paimon_core.options.similar_names import resembled


def options(args: argparse.Namespace, out: Output) -> int:
    """Print the explanation of the option that the argument names, or all options whose names contain the argument.

    Without an argument, print all options. Raises InvalidOption when no name of an option contains the argument.
    """
    name = args.name or ""
    exact = option_of(name)
    found = [exact] if exact is not None else [o for key, o in sorted(OPTIONS.items()) if name.lower() in key]
    if not found:
        meant = resembled(name, KNOWN)
        raise InvalidOption(
            f"{name!r:.60} is in no name of an option of Paimon" + (f": did you mean {meant!r}?" if meant else ""),
            option=name,
        )
    rows = [(o.key, o.kind.value, o.default, o.support.value) for o in found]
    if exact is None:
        out.table(("option", "type", "default", "use"), rows, "no options")
    else:
        out.say(_explained(exact), {"option": exact.key, "type": exact.kind, **_facts(exact)})
    return 0


def _facts(option: Option) -> dict[str, object]:
    return {
        "values": list(option.values),
        "default": option.default,
        "meaning": option.meaning,
        "use": option.support.value,
        "immutable": option.immutable or bool(option.fixed),
        "older_names": list(option.older),
    }


def _explained(option: Option) -> str:
    lines = [f"{option.key}: {option.meaning}", f"  type     {option.kind}"]
    lines += [f"  values   {', '.join(option.values)}"] if option.values else []
    lines += [f"  default  {option.default or 'none'}", f"  use      {option.support}"]
    lines += ["  it cannot change once the table has a snapshot"] if option.immutable or option.fixed else []
    lines += [f"  older    {', '.join(option.older)}"] if option.older else []
    return "\n".join(lines)
