"""Loads of files of change events: each file once, in the order of files, splits and tasks; what is skipped is told."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_lake.loads import load as commits
from paimon_lake.loads import write_tasks
from paimon_lake.loads.files import file_load
from paimon_lake.protocol import AuditFailed, PipelineError
from paimon_lake.sources.files.events.connect_types import DECIMAL
from paimon_lake.sources.files.splits import plan_splits
from tests.pipelines.sources.files.events.event_files import debezium
from tests.support.examples import examples
from tests.support.lakes import SmallLake, small_lake
from tests.support.tasks import in_this_process

PRODUCTS = """
    columns: {id: BIGINT NOT NULL, name: STRING NOT NULL, weight: 'DECIMAL(10, 2)'}
    primary_key: id
    source: {type: files, path: "in/*.json", format: debezium-json}
"""


def row(key, name="a", weight=1.5):
    return {"id": key, "name": name, "weight": weight}


def lines(*events):
    return "".join((event if isinstance(event, str) else json.dumps(event)) + "\n" for event in events)


@pytest.fixture
def products(quick: SmallLake) -> SmallLake:
    quick.declare("shop.products", PRODUCTS)
    return quick


def test_events_of_files_are_applied_once_in_the_order_of_paths_and_lines(lake):
    lake.declare("shop.products", PRODUCTS)
    lake.file("in/1.json", lines(debezium("c", None, row(1)), debezium("c", None, row(2)), debezium("c", None, row(3))))
    lake.file(
        "in/2.json",
        lines(
            debezium("u", row(1), row(1, "b")),
            debezium("d", {"id": 2, "name": None, "weight": None}, None),
            "null",
            debezium("u", row(3), row(4, "moved")),
            debezium("m", None, None),
        ),
    )
    told = lake.load("shop.products")
    assert [found[:2] for found in lake.rows("shop.products")] == [(1, "b"), (4, "moved")]
    assert (told.details["rows_read"], told.rows_written, told.details["rows_merged"]) == (7, 7, 3)
    assert told.skipped == ("1 message skipped", "1 tombstone skipped")
    assert "7 rows written, 1 message skipped, 1 tombstone skipped, 3 merged; 2 rows visible" in told.sentence()
    assert lake.load("shop.products").skipped == ("2 files loaded before",)
    lake.file("in/3.json", lines(debezium("d", row(1), None)))
    lake.load("shop.products")
    assert [found[0] for found in lake.rows("shop.products")] == [4]
    assert lake.load("shop.products", reload=True).row_count == 1


def test_what_does_not_fit_is_in_the_rejects_and_their_share_counts(products):
    bad = [debezium("d", None, None), debezium("c", None, row(7, weight="x")), debezium("x", None, None), "{"]
    products.file("in/1.json", lines(debezium("c", None, row(1)), *bad))
    with pytest.raises(AuditFailed, match=r"4 of 5 rows do not fit"):
        products.load("shop.products")
    products.declare("shop.products", f"{PRODUCTS}    rejects: {{max_share: 0.8}}")
    assert products.load("shop.products").details["rows_rejected"] == 4
    found = products.rows("shop.products__rejects")
    assert [reject[1:3] for reject in found] == [(2, "before"), (3, "weight"), (4, "op"), (5, None)]
    assert json.loads(found[0][4]) == bad[0]


def test_changes_of_schemas_and_events_of_other_tables_are_told(quick):
    text = PRODUCTS.replace("debezium-json", "canal-json, options: {table: products, database: shop}")
    quick.declare("shop.products", text)
    event = {"database": "shop", "table": "products", "isDdl": False, "type": "INSERT", "old": None}
    rows = [{"id": "1", "name": "a", "weight": "1.5"}, {"id": "2", "name": "b", "weight": None}]
    quick.file(
        "in/1.json",
        lines(
            {**event, "data": rows},
            {**event, "data": None, "type": "ALTER", "isDdl": True},
            {**event, "data": [{"x": 1}], "table": "orders"},
            {**event, "data": [{"x": 1}], "database": "old"},
        ),
    )
    told = quick.load("shop.products")
    assert (told.rows_written, told.row_count) == (2, 2)
    assert told.skipped == (
        "2 events of other tables skipped",
        "1 schema change skipped: columns and tables are not changed from files, change the declaration",
    )


def test_files_of_several_tables_are_refused_and_nothing_is_written(products):
    products.file("in/1.json", lines(debezium("c", None, row(1))))
    products.file("in/2.json", lines(debezium("c", None, row(2), table="others")))
    several = r"shop\.products: source\.path in/\*\.json has events of several tables, inventory\.others, inventory"
    with pytest.raises(PipelineError, match=several):
        products.load("shop.products")
    assert products.rows("shop.products") == products.rows("shop.products__rejects") == []


def test_a_truncate_stops_the_load(products):
    path = products.file("in/1.json", lines(debezium("c", None, row(1)), debezium("t", None, None)))
    with pytest.raises(PipelineError, match=r"shop\.products: file .*1\.json, line 2: the event empties the table"):
        products.load("shop.products")
    assert products.rows("shop.products") == []
    path.write_text(lines(debezium("c", None, row(2))))
    assert products.load("shop.products").row_count == 1


def test_a_column_that_no_event_has_is_refused_or_null(products):
    products.file("in/1.json", lines(debezium("c", None, {"id": 1, "name": "a"}), debezium("d", {"id": 2}, None)))
    with pytest.raises(PipelineError, match=r"1\.json: no object has the member 'weight'; set the option allow_"):
        products.load("shop.products")
    products.file("in/1.json", lines(debezium("c", None, row(1, weight=None)), debezium("d", {"id": 2}, None)))
    assert products.load("shop.products").row_count == 1
    optional = PRODUCTS.replace("debezium-json", "debezium-json, options: {allow_missing_columns: true}")
    products.declare("shop.products", optional)
    products.file("in/2.json", lines(debezium("c", None, {"id": 3, "name": "a"})))
    assert products.load("shop.products").row_count == 2
    products.file("in/3.json", lines(debezium("c", None, {"id": 3})))
    with pytest.raises(PipelineError, match=r"3\.json: no object has the member 'name', which must not be null"):
        products.load("shop.products")


def test_renamed_and_added_columns_and_an_order(quick):
    quick.declare(
        "shop.products",
        """
        columns: {id: BIGINT, version: INT, origin: STRING}
        primary_key: id
        order_by: version
        rejects: {max_share: 1}
        source:
          {type: files, path: "in/*.json", format: maxwell-json, rename: {ID: id, V: version}, add: {origin: file}}
        """,
    )
    head = {"database": "d", "table": "t"}
    path = quick.file(
        "in/1.json",
        lines(
            {"type": "insert", "data": {"ID": 1, "V": 5}, **head},
            {"type": "update", "data": {"ID": 1, "V": 4}, "old": {"V": 5}, **head},
            {"type": "insert", "data": {"ID": 2, "V": 1}, **head},
            {"type": "update", "data": {"ID": 3, "V": 2}, "old": {"ID": 2, "V": 1}, **head},
            {"type": "delete", "data": {"ID": 1, "V": None}, **head},
        ),
    )
    quick.load("shop.products")
    assert quick.rows("shop.products") == [(1, 5, str(path)), (3, 2, str(path))]
    (reject,) = quick.rows("shop.products__rejects")
    assert reject[1:4] == (5, "V", "null in a delete, which the column orders")


def test_a_deletes_null_in_a_not_null_column_leaves_no_row(products):
    products.file("in/1.json", lines(debezium("c", None, row(1)), debezium("c", None, row(2))))
    products.load("shop.products")
    products.file("in/2.json", lines(debezium("d", {"id": 1, "name": None, "weight": None}, None)))
    assert products.load("shop.products").row_count == 1
    products.table("shop.products").compact(full=True)
    assert [found[0] for found in products.rows("shop.products")] == [2]


BUCKETS = {
    "one bucket": "",
    "dynamic": "options: {bucket: -1}",
    "partitions": "partition_by: part",
    "moves between partitions": "partition_by: group\n    options: {bucket: -1}",
    "full": "options: {bucket: 3, changelog-producer: lookup}",
}
keys = st.tuples(st.integers(0, 4), st.sampled_from("ab"))
history = st.lists(
    st.tuples(st.sampled_from(["put", "put", "delete", "move"]), keys, keys, st.sampled_from("xy")), max_size=40
)


@pytest.mark.parametrize("layout", BUCKETS.values(), ids=BUCKETS)
@settings(max_examples=examples(12))
@given(drawn=history, loads=st.integers(1, 2), files=st.integers(1, 3))
def test_random_histories_over_files_splits_tasks_and_loads_give_the_rows_of_a_dict(
    tmp_path_factory, layout, drawn, loads, files
):
    lake = small_lake(
        tmp_path_factory.mktemp("events") / "lake", SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=4))
    )
    lake.declare(
        "a.t",
        f"""
    columns: {{id: INT, part: STRING, group: STRING, n: INT NOT NULL}}
    primary_key: [id, part]
    {layout}
    source: {{type: files, path: "in/*.json", format: debezium-json}}
    """,
    )
    names = ("id", "part", "group", "n")
    rows: dict[tuple[int, str], dict[str, object]] = {}
    events = []
    for n, (what, key, other, group) in enumerate(drawn):
        before, after = rows.pop(key, None), dict(zip(names, (*key, group, n), strict=True))
        if what == "put":
            rows[key] = after
            events.append(debezium("u" if before else "c", before, after))
        elif before is not None and what == "delete":
            events.append(debezium("d", {**dict.fromkeys(names), "id": key[0], "part": key[1]}, None))
        elif before is not None and (other == key or other not in rows):
            rows[other] = {**after, "id": other[0], "part": other[1]}
            events.append(debezium("u", before, rows[other]))
        elif before is not None:
            rows[key] = before
    parts = loads * files
    for load in range(loads):
        for file in range(files):
            at = load * files + file
            part = events[len(events) * at // parts : len(events) * (at + 1) // parts]
            lake.file(f"in/{at}.json", lines(*part))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(write_tasks, "collect_tasks", in_this_process)
            patched.setattr(file_load, "plan_splits", lambda files, form: plan_splits(files, form, 300))
            patched.setattr(file_load, "TASK_BYTES", 1)
            lake.load("a.t")
        assert lake.rows("a.t__rejects") == []
    assert lake.rows("a.t") == sorted(tuple(one.values()) for one in rows.values())


SHARDS = """
    columns: {shard: STRING, id: BIGINT NOT NULL, name: STRING}
    primary_key: [shard, id]
    source:
      type: files
      path: "in/*.json"
      format: FORMAT
      options: {table: "orders_*", database: "shop*"}
      source_column: shard
"""


def of_shard(form, table, kind, new, old=None, database="shop1"):
    if form == "debezium-json":
        source = {"db": database, "schema": "public", "table": table}
        before, after = (new, None) if kind == "d" else (old, new)
        return {"before": before, "after": after, "op": kind, "source": source}
    names = {"c": "insert", "u": "update", "d": "delete"}
    event = {"database": database, "table": table, "type": names[kind], "data": new, "old": old}
    if form == "maxwell-json":
        return event
    return {**event, "type": event["type"].upper(), "isDdl": False, "data": [new], "old": old and [old]}


@pytest.mark.parametrize("form", ["debezium-json", "canal-json", "maxwell-json"])
@pytest.mark.parametrize("by_python", [False, True])
def test_shards_are_one_table_with_the_name_of_the_shard_in_the_key(quick, form, by_python):
    quick.declare("shop.orders", SHARDS.replace("FORMAT", form))
    strange = {"x": {"__debezium_unavailable_value": 1}} if by_python else {}
    quick.file(
        "in/1.json",
        lines(
            of_shard(form, "orders_1", "c", {"id": 1, "name": "a"}) | strange,
            of_shard(form, "orders_2", "c", {"id": 1, "name": "b"}),
            of_shard(form, "orders_2", "c", {"id": 2, "name": "c"}) | strange,
            of_shard(form, "orders_1", "c", {"id": 1, "name": "d"}, database="shop2"),
            of_shard(form, "others", "c", {"x": 1}),
            of_shard(form, "orders_3", "c", {"x": 1}, database="other"),
        ),
    )
    told = quick.load("shop.orders")
    middle = ".public" if form == "debezium-json" else ""
    first, second, other = (f"shop{n}{middle}.orders_{m}" for n, m in ((1, 1), (1, 2), (2, 1)))
    assert quick.rows("shop.orders") == [(first, 1, "a"), (second, 1, "b"), (second, 2, "c"), (other, 1, "d")]
    assert told.details["source_tables"] == f"{first}, {second}, {other}"
    assert told.skipped == ("2 events of other tables skipped",)
    quick.file(
        "in/2.json",
        lines(
            of_shard(form, "orders_2", "d", {"id": 1, "name": "b"}),
            of_shard(form, "orders_2", "u", {"id": 7, "name": "c"}, {"id": 2}),
            of_shard(form, "orders_9", "c", {"id": 1, "name": "new"}),
        ),
    )
    assert "orders_9" in quick.load("shop.orders").details["source_tables"]
    rows = [(first, 1, "a"), (second, 7, "c"), (first.replace("_1", "_9"), 1, "new"), (other, 1, "d")]
    assert quick.rows("shop.orders") == rows


def test_rows_with_a_member_of_the_name_of_the_source_column_are_refused(quick):
    quick.declare("shop.orders", SHARDS.replace("FORMAT", "maxwell-json"))
    quick.file("in/1.json", lines(of_shard("maxwell-json", "orders_1", "c", {"id": 1, "name": "a", "shard": "x"})))
    with pytest.raises(PipelineError, match=r"shop\.orders: file .*1\.json: rows have a member 'shard' of their own"):
        quick.load("shop.orders")


APPLIED = """
    columns: {id: INT, name: STRING}
    primary_key: id
    source: {type: files, path: "in/*.json", format: FORMAT, schema_changes: MODE}
"""


def applied(quick, form, mode="apply"):
    quick.declare("shop.orders", APPLIED.replace("FORMAT", form).replace("MODE", mode))

    def file(name, *rows):
        quick.file(f"in/{name}.json", lines(*(of_shard(form, "orders", "c", one) for one in rows)))

    return file


@pytest.mark.parametrize("form", ["debezium-json", "canal-json", "maxwell-json"])
def test_new_members_of_rows_are_added_as_columns(quick, form):
    file = applied(quick, form)
    file(1, {"id": 1, "name": "a"})
    quick.load("shop.orders")
    file(2, {"id": 2, "name": "b"})
    file(3, {"id": 3, "name": "c", "n": 5, "t": "x", "empty": None}, {"id": 4, "name": "d", "n": 1.5})
    told = quick.load("shop.orders")
    assert told.details["ignored_columns"] == "empty"
    assert "the new column n of the source is DOUBLE in the table" in told.details["schema_changes"]
    assert quick.rows("shop.orders") == [
        (1, "a", None, None),
        (2, "b", None, None),
        (3, "c", 5.0, "x"),
        (4, "d", 1.5, None),
    ]
    assert told.rows_written == 3
    file(4, {"id": 5, "name": "e"})
    with pytest.raises(
        PipelineError, match=r"file .*4\.json: no object has the member 'n', 't'; set the option allow_mi"
    ):
        quick.load("shop.orders")


def test_types_of_an_envelope_add_and_widen_columns(quick):
    applied(quick, "debezium-json")
    kinds = {"id": ("int32", {}), "name": ("string", {})}
    price = ("bytes", {"name": DECIMAL, "parameters": {"scale": "2", "connect.decimal.precision": "9"}})
    for name, more, row in (
        (1, {}, {"id": 1, "name": "a"}),
        (2, {"id": ("int32", {}), "p": price, "n": ("int64", {})}, {"id": 2, "name": "b", "p": "AJY=", "n": None}),
    ):
        fields = [{"field": column, "type": kind, **rest} for column, (kind, rest) in (kinds | more).items()]
        schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": fields}]}
        payload = of_shard("debezium-json", "orders", "c", row)
        quick.file(f"in/{name}.json", lines(json.dumps({"schema": schema, "payload": payload}, separators=(",", ":"))))
        quick.load("shop.orders")
    found = {field.name: field.type.sql for field in quick.table("shop.orders").schema.fields}
    assert found == {"id": "INT NOT NULL", "name": "STRING", "p": "DECIMAL(9, 2)", "n": "BIGINT"}
    assert [str(value[3]) for value in quick.rows("shop.orders")] == ["None", "1.50"]


def test_new_members_that_are_ignored_are_told(quick):
    file = applied(quick, "maxwell-json", "ignore")
    file(1, {"id": 1, "name": "a", "n": 5})
    assert quick.load("shop.orders").details["ignored_columns"] == "n"
    assert quick.rows("shop.orders") == [(1, "a")]


@pytest.mark.parametrize(
    ("first", "second", "said"), [(1, "x", "the types BIGINT, STRING"), ([1], None, "objects or arr")]
)
def test_new_members_of_several_kinds_are_refused(quick, first, second, said):
    file = applied(quick, "maxwell-json")
    file(1, {"id": 1, "name": "a", "n": first})
    file(2, {"id": 2, "name": "a", "n": second})
    with pytest.raises(
        PipelineError, match=f"shop.orders: source.path .* has the new column 'n' with {said}.*declare it"
    ):
        quick.load("shop.orders")
    assert quick.rows("shop.orders") == []


def test_too_many_new_members_are_refused(quick):
    file = applied(quick, "maxwell-json")
    file(1, {"id": 1, "name": "a", **{f"n{n}": n for n in range(501)}})
    with pytest.raises(PipelineError, match=r"source\.path .* has 501 new columns, and a load adds at most 500"):
        quick.load("shop.orders")


def test_events_of_several_tables_add_no_columns(quick):
    applied(quick, "maxwell-json")
    quick.file("in/1.json", lines(of_shard("maxwell-json", "orders", "c", {"id": 1, "name": "a"})))
    quick.file("in/2.json", lines(of_shard("maxwell-json", "others", "c", {"id": 2, "name": "b", "n": 5})))
    with pytest.raises(PipelineError, match="events of several tables"):
        quick.load("shop.orders")
    assert quick.table("shop.orders").schema.names == ["id", "name"]


def test_a_load_that_died_after_the_alteration_loads_the_files_once(quick, monkeypatch):
    file = applied(quick, "maxwell-json")
    file(1, {"id": 1, "name": "a", "n": 5})
    with monkeypatch.context() as patched:
        patched.setattr(commits, "commit_load", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            quick.load("shop.orders")
    assert quick.table("shop.orders").schema.names == ["id", "name", "n"]
    assert quick.load("shop.orders").rows_written == 1
    assert quick.rows("shop.orders") == [(1, "a", 5)]
