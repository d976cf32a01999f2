"""On demand: calls of a view that few programs make; the modules that they need are imported at the first call.

Each module of this library adds about half a millisecond to the first read of a new interpreter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paimon_core.health.finding import Health
    from paimon_core.health.thresholds import Thresholds
    from paimon_core.query.row_explanation import RowExplanation
    from paimon_core.table.view import TableView


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
