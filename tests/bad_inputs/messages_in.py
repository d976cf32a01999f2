"""Bad messages: values that other processes send to commits, tasks, splits, plans and groups."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import paimon_core as paimon
from paimon_core.commit.overwrite import Overwrite
from paimon_core.compact.parts import CompactionPart
from paimon_core.compact.task import CompactionTask
from paimon_core.errors import (
    CommitConflict,
    InvalidRequest,
    NotFound,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_core.maintain.planning.plan import Plan, PlannedFile
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.plan.split import Split
from tests.bad_inputs.case import Case, Cases, Lake, case


def sent(change: Callable[[dict[str, Any]], Any], *says: str, error: type[Exception] = InvalidRequest) -> Case:
    """A commit of the message of ``keyed`` with other members, as another process may send it."""

    def call(lake: Lake) -> Any:
        members = json.loads(lake.message.to_bytes())
        change(members)
        return lake.table("keyed").commit([CommitMessage.from_bytes(json.dumps(members).encode())])

    return case(call, error, *says)


def members(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda value: value.update(changed)


def of_file(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda value: value["new_files"][0].update(changed)


def parsed(kind: Any, data: bytes, *says: str, error: type[Exception] = InvalidRequest) -> Case:
    return case(lambda lake: kind.from_bytes(data), error, *says)


CASES: Cases = {
    "a commit of a text": case(lambda lake: lake.table("append").commit("x"), InvalidRequest, "commit messages", "'x'"),
    "a commit of a number": case(lambda lake: lake.table("append").commit(7), InvalidRequest, "commit messages", "7"),
    "a commit of numbers": case(lambda lake: lake.table("append").commit([1]), InvalidRequest, "commit messages"),
    "an overwrite that is none": case(
        lambda lake: lake.table("append").commit([], overwrite={"day": 1}), InvalidRequest, "Overwrite"
    ),
    "identifiers that are fractions": case(
        lambda lake: lake.table("append").filter_committed("u", [1.5]), InvalidRequest, "whole numbers"
    ),
    "the message of another table": case(
        lambda lake: lake.table("days").commit([lake.message]), InvalidRequest, "db.days"
    ),
    "the message of a table with other buckets": case(
        lambda lake: lake.table("merging").commit([lake.message]), paimon.PaimonError, "merging"
    ),
    "a message of a bucket beyond the last": sent(members(bucket=9), "bucket 9", "bucket = 2"),
    "a message of a negative bucket": sent(members(bucket=-1), "bucket -1"),
    "a message of a bucket that is text": sent(members(bucket="0"), "commit message", "bucket is '0'"),
    "a message without a partition": sent(lambda m: m.pop("partition"), "commit message", "partition"),
    "a message of another partition": sent(members(partition="00"), "commit message", "'00' is not bytes"),
    "a message with an unknown member": sent(members(more=1), "commit message", "more"),
    "a message of a newer version": sent(members(version=99), "version 99", error=UnsupportedFeature),
    "a message of no buckets": sent(members(total_buckets=-1), "-1 buckets", "bucket = 2"),
    "a message of a missing file": sent(of_file(file_name="data-gone-0.parquet"), "data-gone-0", error=CommitConflict),
    "a message of another size": sent(of_file(file_size=1), "1 bytes", error=CommitConflict),
    "a message of no rows": sent(of_file(row_count=0), "0 rows"),
    "a message of negative rows": sent(of_file(row_count=-1), "-1 rows"),
    "a message of level 1000": sent(of_file(level=1000), "level 1000"),
    "a message of a path": sent(of_file(file_name="../../x"), r"'\.\./\.\./x'"),
    "a message of an external file": sent(of_file(external_path="http://h/x"), "external path"),
    "a message of an unknown schema": sent(of_file(schema_id=77), "schema 77"),
    "a message of another key": sent(of_file(min_key=""), "commit message", "min_key is ''"),
    "a message of a short key": sent(of_file(min_key={"b": ""}), "commit message", "data-"),
    "a message of other types": sent(of_file(row_count="many"), "commit message", "row_count is 'many'"),
    "a message that is empty": parsed(CommitMessage, b"", "commit message"),
    "a message that is a list": parsed(CommitMessage, b"[]", "commit message"),
    "a message that is a pickle": parsed(CommitMessage, b"\x80\x04cos\nsystem\n.", "commit message"),
    "a message of deep lists": parsed(CommitMessage, b"[" * 100_000, "commit message"),
    "a compaction task that is empty": parsed(CompactionTask, b"{}", "compaction task"),
    "a compaction task of other types": parsed(
        CompactionTask,
        b'{"version": 5, "partition": {"b": ""}, "bucket": 0, "total_buckets": 1, "of_full_table": 7, "groups": [], '
        b'"sort": null, "output_level": 0, "indexes": []}',
        "compaction task",
        "of_full_table is 7",
    ),
    "a part of a compaction that is empty": parsed(CompactionPart, b"{}", "part of a compaction"),
    "a part of a compaction of a newer version": parsed(
        CompactionPart, b'{"version": 99}', "version 99", error=UnsupportedFeature
    ),
    "an overwrite of a number": case(lambda lake: Overwrite(7), InvalidRequest, "matches", "7"),
    "a split that is empty": parsed(Split, b"", "split"),
    "a split of a newer version": parsed(Split, b'{"version": 99}', "version 99", error=UnsupportedFeature),
    "a split without files": parsed(Split, b"{}", "split"),
    "a plan that is empty": parsed(Plan, b"", "plan"),
    "a plan of a newer version": parsed(Plan, b'{"version": 99}', "version 99", error=UnsupportedFeature),
    "a plan of a path outside": case(
        lambda lake: _applied(lake, lambda plan: replace(plan, files=(replace(_file(), path="/etc/passwd"),))),
        InvalidRequest,
        "/etc/passwd",
    ),
    "a plan of ..": case(
        lambda lake: _applied(
            lake, lambda plan: replace(plan, files=(replace(_file(), path=f"{lake.table('keyed').location}/../x"),))
        ),
        InvalidRequest,
        r"\.\./x",
    ),
    "a plan of another table": case(
        lambda lake: _applied(lake, lambda plan: plan, "append"), InvalidRequest, "db.append"
    ),
    "a plan of another operation": case(
        lambda lake: _applied(lake, lambda plan: replace(plan, operation="burn")), InvalidRequest, "burn|apply takes"
    ),
    "a group of no messages": case(
        lambda lake: lake.catalog.group("g").publish({}), InvalidRequest, "at least one table"
    ),
    "a group of a missing table": case(
        lambda lake: lake.catalog.group("g").publish({"db.no": [lake.message]}), TableNotFound, "no"
    ),
    "a group of a text": case(lambda lake: lake.catalog.group("g").publish("x"), InvalidRequest, "mapping", "'x'"),
    "a group of an empty token": case(
        lambda lake: lake.catalog.group("g").publish({"db.keyed": [lake.message]}, token=""), InvalidRequest, "token"
    ),
    "a group of a token of 2 MB": case(
        lambda lake: lake.catalog.group("g").publish({"db.keyed": [lake.message]}, token="t" * (2 << 20)),
        InvalidRequest,
        "token has 2097152 bytes",
    ),
    "a group of an unknown overwrite": case(
        lambda lake: lake.catalog.group("g").publish({"db.keyed": [lake.message]}, overwrite={"db.keyed": "some"}),
        InvalidRequest,
        "some",
    ),
    "a group of long properties": case(
        lambda lake: lake.catalog.group("g").publish({"db.keyed": [lake.message]}, properties={"a": "x" * (9 << 20)}),
        InvalidRequest,
        "properties",
    ),
    "a group's version that is missing": case(lambda lake: lake.catalog.group("g").table("db.keyed", 7), NotFound, "7"),
    "a group without versions": case(lambda lake: lake.catalog.group("g").table("db.keyed"), NotFound, "db.keyed"),
    "a group's version that is text": case(
        lambda lake: lake.catalog.group("g").table("db.keyed", "1"), InvalidRequest, "version", "'1'"
    ),
    "a group to roll back to nothing": case(lambda lake: lake.catalog.group("g").rollback(7), NotFound, "7"),
    "a group without a pending publish": case(lambda lake: lake.catalog.group("g").abandon(), NotFound, "pending"),
    "a group to keep no versions": case(lambda lake: lake.catalog.group("g").expire(0), InvalidRequest, "keep_last"),
}


def _file() -> Any:
    return PlannedFile("", 1)


def _applied(lake: Lake, change: Callable[[Plan], Plan], table: str = "keyed") -> Any:
    plan = lake.table("keyed").maintenance.plan_tag_deletion("monday")
    return lake.table(table).maintenance.apply(change(plan))
