"""The command compile: print the whole definitions that declarations become."""

from __future__ import annotations

import argparse
import json

import yaml

from paimon_lake.cli.selectors import add_selectors, chosen
from paimon_lake.declarations import Settings
from paimon_lake.overview import nothing_declared
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.compiled import compiled


def add_compile_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_selectors(command)
    command.add_argument("--json", action="store_true", help="print a JSON object for each table, one on a line")


def compile_declarations(settings: Settings, asked: argparse.Namespace) -> str:
    """Return the definitions of the chosen tables (default: all) as documents of YAML, or as lines of JSON."""
    if not settings.tables:
        raise PipelineError(nothing_declared(settings))
    found = [compiled(settings, name) for name in chosen(settings, asked)]
    if not found:
        return "" if asked.json else f"# no definition differs from {asked.state}"
    if asked.json:
        return "\n".join(json.dumps(one, ensure_ascii=False) for one in found)
    return "---\n".join(yaml.safe_dump(one, sort_keys=False, allow_unicode=True, width=120) for one in found).rstrip()
