"""The command line ``paimon-lake``, for example ``paimon-lake load --table ods.flights --partition 2013-01-31``.

Every step prints its result as one sentence or (``--json``) one JSON object; other commands print lines. Exit codes: 0:
the command succeeded. 1: the step failed for the table, for some of its parts, or for some tables of a shared slot; or
a command such as ``audit``, ``check`` or ``show`` found a problem. 2: the request was wrong; one sentence explains why.
3: the step succeeded, but the table has stale partitions, which the result names.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NoReturn

from pyspark.errors import PySparkException

from paimon_core.cli.parsing.parser import OnceParser
from paimon_core.cli.parsing.values import number, seconds, size
from paimon_core.cli.standalone.completion import COMPLETION, HELP, add_shell, script_of
from paimon_core.errors import InvalidRequest, NotFound, PaimonError
from paimon_core.health.finding import FINDINGS
from paimon_lake.cli.check_command import add_test_arguments, run_declared_checks
from paimon_lake.cli.compile_command import add_compile_arguments, compile_declarations
from paimon_lake.cli.follow_command import add_arguments, follow
from paimon_lake.cli.lake_commands import SETTINGS_ONLY, add_lake_commands, lines_of, write_new
from paimon_lake.cli.selectors import add_selectors, add_table, chosen, named
from paimon_lake.declarations import Settings, SettingsError, load_settings
from paimon_lake.declarations.errors import nearest
from paimon_lake.declarations.lake.groups import groups_of
from paimon_lake.loads.groups.group_versions import Published, shown_version
from paimon_lake.overview import existing, lake_text, nothing_declared, overviews, with_lags
from paimon_lake.protocol import AuditFailed, PartsFailed, PipelineError, StepResult, TablesFailed
from paimon_lake.session import JVM_ERRORS, Spark, jvm_has_ended, spark_reason, start_session
from paimon_lake.steps.audits.audit import audit
from paimon_lake.steps.audits.check_and_rollback import fsck, rollback
from paimon_lake.steps.health.doctor import doctor
from paimon_lake.steps.health.lake_metrics import lake_metrics, send_lake_metrics
from paimon_lake.steps.upkeep.expiry import expire
from paimon_lake.steps.upkeep.maintain import budget_of, maintain
from paimon_lake.steps.upkeep.maintenance import compact, tag
from paimon_lake.steps.upkeep.rejects_upkeep import expire_rejects, fsck_rejects, sweep_rejects
from paimon_lake.steps.upkeep.sweep import sweep

STALE = 3
"""The exit code of a step that succeeded and left partitions of its table stale."""
ALONE = ("new", COMPLETION)
"""Commands that read no declarations."""
_CHOICE = re.compile(r".*invalid choice: '([^']*)' \(choose from (.*)\)")
Command = Callable[[Spark, Settings, argparse.Namespace], Iterable[StepResult | Published]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.command == "new":
            print(write_new(asked.folder))
            return 0
        if asked.command == COMPLETION:
            print(script_of(_parser(), asked.shell))
            return 0
        named(asked)
        settings = load_settings(asked.env, warehouse=asked.warehouse, configs=asked.configs)
        if asked.command in SETTINGS_ONLY:
            lines, is_well = lines_of(lambda: start_session(settings), settings, asked)
            print("\n".join(lines))
            return 0 if is_well else 1
        if (code := _code_of(settings, asked)) is not None:
            return code
        is_stale = False
        for result in asked.run(lambda: start_session(settings), settings, asked):
            print(result.to_json() if asked.json else result.sentence(), flush=True)
            is_stale |= isinstance(result, StepResult) and bool(result.stale)
    except (PipelineError, SettingsError, InvalidRequest, NotFound) as error:
        print(f"paimon-lake {asked.command}: {error}", file=sys.stderr)
        return 2
    except AuditFailed as error:
        print(f"paimon-lake {asked.command}: {error}", file=sys.stderr)
        return 1
    except PartsFailed as error:
        if asked.json and asked.command != "follow":  # follow has already printed the result
            print(error.result.to_json(), flush=True)
        print(f"paimon-lake {asked.command}: {error}", file=sys.stderr)
        return 1
    except TablesFailed as error:
        for result in error.results if asked.command != "follow" else ():  # follow has already printed the results
            print(result.to_json() if asked.json else result.sentence(), flush=True)
        print(f"paimon-lake {asked.command}: {error}", file=sys.stderr)
        return 1
    except PaimonError as error:
        print(f"paimon-lake {asked.command}: {error.kind}: {error}", file=sys.stderr)
        return 1
    except PySparkException as error:
        chosen_tables = getattr(asked, "table", None) or []
        listed = chosen_tables if isinstance(chosen_tables, str) else " ".join(chosen_tables)
        table = f"{listed}: " if listed else ""
        print(f"paimon-lake {asked.command}: {table}{spark_reason(error)}", file=sys.stderr)
        return 1
    except JVM_ERRORS:
        if not jvm_has_ended():
            raise
        text = "the JVM of Spark has ended, which happens when memory is short: start the command again"
        print(f"paimon-lake {asked.command}: {text}", file=sys.stderr)
        return 1
    return STALE if is_stale else 0


def _code_of(settings: Settings, asked: argparse.Namespace) -> int | None:
    """Run a command that is no step and return its exit code; None for a step."""
    match asked.command:
        case "show":
            return _show(settings, asked)
        case "compile":
            if text := compile_declarations(settings, asked):
                print(text)
            return 0
        case "test":
            return run_declared_checks(lambda: start_session(settings), settings, asked)
        case "follow":
            followed = follow(settings, asked)
            return 1 if followed.failing else STALE if followed.stale else 0
        case "metrics":
            return _metrics(settings, asked.otlp)
        case "audit":
            return _audit(settings, asked)
        case "maintain":
            return _maintain(settings, asked)
    return None


class _Parser(OnceParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        wrong = _CHOICE.match(message)
        near = nearest(wrong[1], re.findall(r"'([^']*)'", wrong[2])) if wrong else ""
        self.exit(2, f"{self.prog}: {message}{near} (see --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="paimon-lake", description="The steps of a lake.")
    common = _Parser(add_help=False)
    common.add_argument(
        "--configs", metavar="PATH", help="the folder of the declarations (default: $PAIMON_LAKE_CONFIGS, configs/)"
    )
    common.add_argument("--env", help="an environment, a file of that folder (default: $PAIMON_ENV, local)")
    common.add_argument("--warehouse", metavar="PATH", help="the directory of the lake (default: as configured)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="STEP")

    def add(name: str, text: str, run: Command | None = None) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text, parents=[common] if name not in ALONE else [])
        command.set_defaults(run=run)
        if run is not None:
            command.add_argument("--json", action="store_true", help="print results as JSON")
        return command

    compaction = _table(add("compact", "merge the sorted runs of a table", _compact))
    compaction.add_argument("--full", action="store_true", help="merge every bucket into one run, also if not needed")
    compaction.add_argument(
        "--partition", action="append", metavar="VALUE", help="compact only this partition; may be repeated"
    )
    compaction.add_argument("--dry-run", action="store_true", help="only show what would be done")
    tagging = _table(add("tag", "tag the latest snapshot of a table", lambda _, s, a: [tag(s, a.table, a.name)]))
    tagging.add_argument("--name", required=True, help="the tag's name")
    _maintenance(add)
    _table(add("audit", "check the loads, the keys and the files of a table, or of all"), required=False)
    add_lake_commands(add)
    add_compile_arguments(add("compile", "print what declarations become, with all defaults, as YAML or JSON"))
    add_test_arguments(add("test", "run the declared checks of tables, and show them after earlier loads"))
    add_arguments(add("follow", "load tables again and again, and compact them meanwhile, until it is stopped"))
    maintaining = add("maintain", "do the maintenance of all tables that is worth its cost, within one budget")
    maintaining.add_argument("--bytes", type=size, metavar="SIZE", help="read and write at most this, such as '10 gb'")
    maintaining.add_argument("--seconds", type=seconds, metavar="SECONDS", help="take at most this time")
    maintaining.add_argument("--memory", type=size, metavar="SIZE", help="take at most this memory, such as '4 gb'")
    maintaining.add_argument("--dry-run", action="store_true", help="print the plan and change nothing")
    maintaining.add_argument("--json", action="store_true", help="print the result of each table as JSON")
    metrics = add("metrics", "print the measures of the tables as OpenMetrics text")
    metrics.add_argument(
        "--otlp",
        nargs="?",
        const="",
        metavar="URL",
        help="send them to this OpenTelemetry collector (default: OTEL_EXPORTER_OTLP_ENDPOINT) instead of printing",
    )
    text = "list the tables: visible rows, snapshots, files per level, tags, lag behind sources of changes"
    add_selectors(add("show", text))
    add_shell(add(COMPLETION, HELP))
    return parser


def _maintenance(add: Callable[[str, str, Command], argparse.ArgumentParser]) -> None:
    expiry = _table(
        add(
            "expire",
            "delete old snapshots and tags, also of the table of rejects",
            lambda p, s, a: [
                expire(p, s, a.table, dry_run=a.dry_run),
                *expire_rejects(p, s, a.table, dry_run=a.dry_run),
            ],
        )
    )
    sweeping = _table(
        add(
            "sweep",
            "move unreferenced files to quarantine, also of the table of rejects",
            lambda p, s, a: [sweep(p, s, a.table, dry_run=a.dry_run), *sweep_rejects(p, s, a.table, dry_run=a.dry_run)],
        )
    )
    for command in (expiry, sweeping):
        command.add_argument("--dry-run", action="store_true", help="only show what would be done")
    checking = _table(
        add(
            "fsck",
            "check the invariants of a table, and of its table of rejects",
            lambda _, s, a: [fsck(s, a.table, deep=a.deep), *fsck_rejects(s, a.table, deep=a.deep)],
        )
    )
    checking.add_argument("--deep", action="store_true", help="also read all rows")
    examining = _table(
        add(
            "doctor",
            "tell what a table costs more than it needs to, and mend it",
            lambda _, s, a: [doctor(s, a.table, fix=a.fix is not None, findings=a.fix or ())],
        )
    )
    examining.add_argument(
        "--fix", nargs="*", metavar="FINDING", choices=FINDINGS, help="run all safe mends, or those of these findings"
    )
    parser = _table(add("rollback", "show what a rollback deletes, or do it", _rollback))
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--snapshot", type=number, metavar="ID", help="roll back to this snapshot")
    target.add_argument("--tag", metavar="NAME", help="roll back to this tag")
    parser.add_argument("--apply", action="store_true", help="do the rollback")


def _rollback(_: Spark, settings: Settings, asked: argparse.Namespace) -> list[StepResult]:
    result = rollback(settings, asked.table, snapshot=asked.snapshot, tag=asked.tag, apply=asked.apply)
    return [result if asked.apply else replace(result, note=f"{result.note}; --apply does it")]


def _table(command: argparse.ArgumentParser, *, required: bool = True) -> argparse.ArgumentParser:
    add_table(command, required=required)
    return command


def _compact(spark: Spark, settings: Settings, asked: argparse.Namespace) -> list[StepResult]:
    chosen = {"full": asked.full, "partitions": asked.partition, "dry_run": asked.dry_run}
    return [compact(spark, settings, asked.table, **chosen)]


def _show(settings: Settings, asked: argparse.Namespace) -> int:
    if not settings.tables:
        raise PipelineError(nothing_declared(settings))
    names = None if asked.table is None and asked.state is None else chosen(settings, asked)
    if names == []:
        print(f"no definition differs from {asked.state}")
        return 0
    found = with_lags(settings, overviews(settings, names))
    if not found and names is not None:
        raise PipelineError(f"not in {settings.warehouse} yet: {', '.join(names)}; `apply` creates the declared tables")
    if not found:
        raise PipelineError(f"there is no table in {settings.warehouse} yet: `apply` creates the declared tables")
    print(lake_text(found))
    groups = groups_of(settings.groups, settings.tables if names is None else names)
    shown = [shown_version(settings, group) for group in groups]
    for version in shown:
        print(version.sentence(), file=sys.stderr if version.problem else sys.stdout)
    for damaged in (v for v in found if v.problem):
        print(f"paimon-lake show: {damaged.name.strip()}: {damaged.problem}", file=sys.stderr)
    for late in (v for v in found if v.lag_problem):
        print(f"paimon-lake show: {late.name}: the lag is not known: {late.lag_problem}", file=sys.stderr)
    return 1 if any(v.problem or v.lag_problem for v in found) or any(v.problem for v in shown) else 0


def _metrics(settings: Settings, otlp: str | None) -> int:
    if otlp is None:
        text, failures = lake_metrics(settings)
        print(text, end="")
    else:
        sent, failures = send_lake_metrics(settings, otlp)
        print(f"sent {sent:,} values")
    for name, reason in failures.items():
        print(f"paimon-lake metrics: {name}: {reason}", file=sys.stderr)
    return 1 if failures else 0


def _maintain(settings: Settings, asked: argparse.Namespace) -> int:
    if not settings.tables:
        raise PipelineError(nothing_declared(settings))
    declared = budget_of(settings)
    given = {name: getattr(asked, name) for name in ("bytes", "seconds", "memory") if getattr(asked, name) is not None}
    budget = replace(declared, **given)
    done = maintain(settings, spark=lambda: start_session(settings), budget=budget, dry_run=asked.dry_run)
    if asked.json:
        for result in done.results:
            print(result.to_json(), flush=True)
    else:
        print(done.text)
    for name, reason in done.problems.items():
        print(f"paimon-lake maintain: {name}: {reason}", file=sys.stderr)
    return 1 if done.problems else 0


def _audit(settings: Settings, asked: argparse.Namespace) -> int:
    if not settings.tables:
        raise PipelineError(nothing_declared(settings))
    names = [settings.table(asked.table).name] if asked.table else existing(settings)
    results = [result for name in names for result in audit(settings, name)]
    advice = [result.audit == "health" and result.severity == "warn" for result in results]  # it costs, but is right
    for result, is_advice in zip(results, advice, strict=True):
        word = "ok   " if result.passed else "warn " if is_advice else "WRONG"
        print(f"{word} {result.table} {result.audit}: {result.sentence}")
    return 0 if all(result.passed or advised for result, advised in zip(results, advice, strict=True)) else 1
