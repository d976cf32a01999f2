"""What catalogs, tables, scans and other handles show of themselves (resembles issue 29)."""

import html

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.display import SHOWN_TEXT, Displayed, Summary, named, time_text

PRE = '<pre style="font-family: monospace">'


class _Shown(Displayed):
    def __init__(self, summary):
        self._shown = summary

    def _summary(self):
        return self._shown


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("shop")
    columns = {"id": "BIGINT NOT NULL", "price": "DOUBLE"}
    table = catalog.create_table("shop.orders", columns, primary_key="id", comment="<b>orders</b>")
    table.write([{"id": 1, "price": 2.0}])
    return table


def test_a_line_has_the_facts_that_are_known():
    assert repr(_Shown(Summary("a", (("n", 12000), ("where", None))))) == "_Shown(a, n=12,000)"
    assert len(repr(_Shown(Summary("", (("text", "x\n" * 500),))))) < SHOWN_TEXT + 30


def test_html_escapes_values_and_counts_the_rows_that_it_leaves_out():
    html = _Shown(Summary("<t>", header=("<c>",), rows=[("<v>",)] * 201))._repr_html_()
    assert "<t>" not in html
    assert "<c>" not in html
    assert "<v>" not in html
    assert html.count("&lt;v&gt;") == 200
    assert "1 more rows" in html


def test_numbers_are_on_the_right_and_a_table_without_rows_is_left_out():
    facts = (("n", 12000), ("is", True))
    shown = _Shown(Summary("", facts, header=("finding",)))._repr_html_()
    assert "right" not in shown
    assert "finding" not in shown
    shown = _Shown(Summary("", header=("fact", "value"), rows=facts))._repr_html_()
    assert '<td style="text-align: right">12,000</td>' in shown
    assert '<td style="text-align: left">True</td>' in shown


def test_names_of_many_columns_are_counted():
    assert named(["a", "b"], ["a", "b"]) == "all"
    assert named(list("abcdefgh")) == "[a, b, c, d, e, f, and 2 more]"


def test_a_time_that_no_date_can_express_is_a_number():
    assert time_text(0) == "1970-01-01 00:00:00+00:00"
    assert time_text(2**62) == str(2**62)


def test_handles_show_one_line(table, warehouse):
    handles = {
        repr(paimon.open_catalog(warehouse)): "FilesystemCatalog(",
        repr(table): "Table(shop.orders)",
        repr(table.at(snapshot=1)): "TableView(shop.orders at snapshot 1)",
        repr(table.latest_snapshot()): "Snapshot(1, kind=APPEND, rows_added=1, rows_in_files=1)",
        repr(
            table.scan(["id"], col("id") > 0, 5)
        ): "Scan(shop.orders at snapshot 1, columns=[id], where=id > 0, limit=5)",
        repr(table.scan().plan): "ScanPlan(snapshot 1, splits=1, files=1, bytes=",
        repr(table.changes()): "Changes(shop.orders, start=the table before its first snapshot, end=snapshot 1",
        repr(table.diff(1, 1)): "Diff(shop.orders, start=snapshot 1, end=snapshot 1",
        repr(table.stream()): "TableStream(shop.orders, next_snapshot=1, full=True, columns=[id, price])",
        repr(table.system("files", ["level"])): "SystemScan(shop.orders$files, columns=[level])",
        repr(table.system_table("files")): "SystemTable(shop.orders$files)",
        repr(table.branches): "Branches(shop.orders)",
        repr(table.tags): "Tags(shop.orders)",
        repr(table.inspect): "Inspect(shop.orders)",
        repr(table.maintenance): "Maintenance(shop.orders)",
        repr(table.schema): "TableSchema(schema 0, columns=[id, price], primary_key=[id])",
        repr(table.schema.fields[0].type): "DataType(BIGINT NOT NULL)",
    }
    for shown, start in handles.items():
        assert shown.startswith(start)
        assert len(shown) < 400
        assert "\n" not in shown


def test_the_html_of_a_table_has_its_columns_and_escapes_its_comment(table):
    html = table._repr_html_()
    assert "price" in html
    assert "BIGINT NOT NULL" in html
    assert "&lt;b&gt;orders" in html
    assert "<b>" not in html


def test_explanations_are_shown_as_their_text(table):
    for explanation in (table.scan().explain(), table.explain_row({"id": 1})):
        assert repr(explanation) == str(explanation)
        assert explanation._repr_html_() == f"{PRE}{html.escape(str(explanation))}</pre>"
    assert table.plan_maintenance()._repr_html_().startswith(f"{PRE}0 pieces of work")
    assert table.maintain()._repr_html_().startswith(PRE)


def test_messages_writers_and_statistics_show_one_line_and_html(table):
    with table.writer() as writer:
        writer.write([{"id": 2, "price": 3.0}])
        (message,) = writer.flush()
        values = [(writer, "TableWriter(shop.orders, rows_received=1)"), (message, "CommitMessage(bucket 0, rows=1, ")]
    table.analyze()
    statistics = table.statistics()
    assert ">price</td>" in statistics._repr_html_()
    for value, start in [*values, (statistics, "Statistics(snapshot 1, rows=1, bytes=")]:
        assert repr(value).startswith(start)
        assert len(repr(value)) < 150
        assert "<table" in value._repr_html_()


def test_plans_reports_and_values_show_one_line_and_html(table):
    table.write([{"id": 2, "price": 3.0}])
    table.tags.create("first", snapshot=1)
    maintenance = table.maintenance
    plan = maintenance.plan_snapshot_expiry(keep_last=1, keep_max=1)
    values = [
        (plan, "Plan(expire-snapshots shop.orders, subjects=1, files="),
        (maintenance.check(), "Report(shop.orders, checked="),
        (table.health(), "Health(shop.orders, snapshot=2, score="),
        (table.tags.list()[0], "Tag(first, snapshot=1, committed="),
        (table.scan().splits()[0], "Split(bucket "),
        (table.changes(1, 2).prove(), "Proof(shop.orders, start=1, end=2, buckets="),
        (table.compact(full=True), "CompactReport(tasks=1, input_files=2, input_bytes="),
        (table.diff(1, 2).summary(), "DiffSummary(added=1, removed=0, changed=0, columns={})"),
        (table.prepare([{"id": 3, "price": 1.0}]), "Prepared(shop.orders, draft=4, rows=1, messages=1)"),
        (maintenance.apply(plan), "ExpireReport(shop.orders, expired=1, earliest=2, files="),
    ]
    for value, start in values:
        assert repr(value).startswith(start)
        assert len(repr(value)) < 150
        assert "<table" in value._repr_html_()
