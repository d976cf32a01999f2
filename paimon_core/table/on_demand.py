"""On demand: calls of a view that few programs make; the modules that they need are imported at the first call.

Each module of this library adds about half a millisecond to the first read of a new interpreter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_core.deferred import DeferredModule, deferred

if TYPE_CHECKING:
    from paimon_core.alter.alter_table import alter_table as alter_table
    from paimon_core.alter.text import parse_changes as parse_changes
    from paimon_core.compact import compaction as compaction
    from paimon_core.compact.compactor import run_task as run_task
    from paimon_core.compact.compactor import run_tasks as run_tasks
    from paimon_core.compact.planning import idle_partitions as idle_partitions
    from paimon_core.compact.planning import plan as plan
    from paimon_core.compact.planning import plan_sorted as plan_sorted
    from paimon_core.compact.report import CompactReport
    from paimon_core.compact.sort_order import SortOrder
    from paimon_core.health.finding import Health
    from paimon_core.health.thresholds import Thresholds
    from paimon_core.maintain.expiry.configured import expire_retained as expire_retained
    from paimon_core.maintain.file_indexes import index_files as index_files
    from paimon_core.maintain.file_indexes import rewrite_indexes as rewrite_indexes
    from paimon_core.maintain.rollback.rollback import rollback as rollback
    from paimon_core.query.row_explanation import RowExplanation
    from paimon_core.table.changes.changes import changes_between as changes_between
    from paimon_core.table.changes.diff import diff_between as diff_between
    from paimon_core.table.changes.incremental import incremental_scan as incremental_scan
    from paimon_core.table.commit_request import CommitRequest
    from paimon_core.table.dynamic_options import selects_snapshot as selects_snapshot
    from paimon_core.table.dynamic_options import with_dynamic_options as with_dynamic_options
    from paimon_core.table.inspect import Inspect
    from paimon_core.table.refs.branches import Branches
    from paimon_core.table.refs.leases import Lease
    from paimon_core.table.refs.leases import leases_of as leases_of
    from paimon_core.table.refs.tags import Tags
    from paimon_core.table.refs.tags import rollback_target as rollback_target
    from paimon_core.table.stream.start import open_stream as open_stream
    from paimon_core.table.summaries import place as place
    from paimon_core.table.summaries import table_summary as table_summary
    from paimon_core.table.system.row_tables import changes_asked as changes_asked
    from paimon_core.table.system.tables import check_name as check_name
    from paimon_core.table.system.tables import is_of_snapshot as is_of_snapshot
    from paimon_core.table.system.tables import system_table as system_table
    from paimon_core.table.upkeep.analysis import analyze as analyze
    from paimon_core.table.upkeep.expiry import requested_retentions as requested_retentions
    from paimon_core.table.upkeep.rescale import rescale as rescale
    from paimon_core.table.upkeep.rescale_task import run_rescales as run_rescales
    from paimon_core.table.view import TableView

    inspect_of = Inspect
    lease_of = Lease
    tags_of = Tags
    sort_order = SortOrder.of
    no_report = CompactReport
    branches_of = Branches
    commit_request = CommitRequest.of
else:
    changes_between = deferred("paimon_core.table.changes.changes", "changes_between")
    diff_between = deferred("paimon_core.table.changes.diff", "diff_between")
    incremental_scan = deferred("paimon_core.table.changes.incremental", "incremental_scan")
    selects_snapshot = deferred("paimon_core.table.dynamic_options", "selects_snapshot")
    with_dynamic_options = deferred("paimon_core.table.dynamic_options", "with_dynamic_options")
    leases_of = deferred("paimon_core.table.refs.leases", "leases_of")
    place = deferred("paimon_core.table.summaries", "place")
    table_summary = deferred("paimon_core.table.summaries", "table_summary")
    changes_asked = deferred("paimon_core.table.system.row_tables", "changes_asked")
    check_name = deferred("paimon_core.table.system.tables", "check_name")
    is_of_snapshot = deferred("paimon_core.table.system.tables", "is_of_snapshot")
    system_table = deferred("paimon_core.table.system.tables", "system_table")
    inspect_of = deferred("paimon_core.table.inspect", "Inspect")
    lease_of = deferred("paimon_core.table.refs.leases", "Lease")
    tags_of = deferred("paimon_core.table.refs.tags", "Tags")
    alter_table = deferred("paimon_core.alter.alter_table", "alter_table")
    parse_changes = deferred("paimon_core.alter.text", "parse_changes")
    run_task = deferred("paimon_core.compact.compactor", "run_task")
    run_tasks = deferred("paimon_core.compact.compactor", "run_tasks")
    idle_partitions = deferred("paimon_core.compact.planning", "idle_partitions")
    plan = deferred("paimon_core.compact.planning", "plan")
    plan_sorted = deferred("paimon_core.compact.planning", "plan_sorted")
    expire_retained = deferred("paimon_core.maintain.expiry.configured", "expire_retained")
    index_files = deferred("paimon_core.maintain.file_indexes", "index_files")
    rewrite_indexes = deferred("paimon_core.maintain.file_indexes", "rewrite_indexes")
    rollback = deferred("paimon_core.maintain.rollback.rollback", "rollback")
    open_stream = deferred("paimon_core.table.stream.start", "open_stream")
    rollback_target = deferred("paimon_core.table.refs.tags", "rollback_target")
    analyze = deferred("paimon_core.table.upkeep.analysis", "analyze")
    requested_retentions = deferred("paimon_core.table.upkeep.expiry", "requested_retentions")
    rescale = deferred("paimon_core.table.upkeep.rescale", "rescale")
    run_rescales = deferred("paimon_core.table.upkeep.rescale_task", "run_rescales")
    compaction = DeferredModule("paimon_core.compact.compaction")
    sort_order = deferred("paimon_core.compact.sort_order", "SortOrder.of")
    no_report = deferred("paimon_core.compact.report", "CompactReport")
    branches_of = deferred("paimon_core.table.refs.branches", "Branches")
    commit_request = deferred("paimon_core.table.commit_request", "CommitRequest.of")


def health(view: TableView, thresholds: Thresholds | None) -> Health:
    """Return what ``TableView.health`` returns; raises its errors."""
    from paimon_core.health.check import check_health

    return check_health(view.context, view.latest_snapshot(), thresholds)


def health_page(view: TableView) -> str:
    """Return what ``TableView.report`` returns; raises its errors."""
    from paimon_core.health.page.page import table_page

    return table_page(view.context, view.latest_snapshot())


def explain_row(view: TableView, key: Any) -> RowExplanation:
    """Return what ``TableView.explain_row`` returns; raises its errors."""
    from paimon_core.query.row_explanation import explain, key_filter

    values, where = key_filter(view.context, key)
    return explain(view.scan(where=where), values)
