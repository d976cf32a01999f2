"""lake_health: examine all tables of a lake for one overview and one page."""

from __future__ import annotations

from paimon_core.advice import advised
from paimon_core.errors import PaimonError
from paimon_core.health.page.page import LakePage
from paimon_lake.declarations import Settings
from paimon_lake.overview import existing
from paimon_lake.tables import open_table


def lake_health(settings: Settings, title: str) -> LakePage:
    """Examine the declared tables that exist; a table that cannot be read is one of the ``failures`` of the page."""
    page = LakePage(title)
    for name in existing(settings):
        try:
            table = open_table(settings, name)
            page.add(table.context, table.latest_snapshot())
        except PaimonError as error:
            page.fail(name, f"{error.kind}: {advised(error, name)}")
    return page
