"""Several tables of PostgreSQL in one table: copies, changes, truncates, tables that are found later, conflicts."""

from __future__ import annotations

import pytest

from paimon_lake.loads.lag import lags
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.postgres.release import release
from paimon_lake.protocol import AuditFailed, PipelineError
from paimon_lake.steps.apply import apply
from paimon_lake.tables import open_lake
from tests.support.postgres import PASSWORD

COLUMNS = "{shard: STRING, id: BIGINT, t: STRING}"
COLUMNS_N = "{shard: STRING, id: INT, n: INT}"
KEY = "primary_key: [shard, id]"


@pytest.fixture
def shards(followed):
    """A lake whose table follows all tables ``s.o_*``, of which two exist; both have the key 1."""
    followed.run("DROP TABLE s.o", *(f"CREATE TABLE s.o_{n} (id int PRIMARY KEY, t text)" for n in (1, 2)))
    followed.run("INSERT INTO s.o_1 VALUES (1, 'a'), (2, 'b')", "INSERT INTO s.o_2 VALUES (1, 'c')")
    declare(followed)
    return followed


def declare(followed, more="", table="s.o_*", columns=COLUMNS):
    followed.declare(columns, f", source_column: shard{more}", KEY)
    path = followed.lake.folder / "tables" / "shop.o.yaml"
    path.write_text(path.read_text().replace("table: s.o,", f"table: '{table}',".replace("'[", "[").replace("]'", "]")))


def check(shards, columns="id, t"):
    """Compare the table with all tables that the schema has."""
    names = [name for (name,) in shards.rows("SELECT tablename FROM pg_tables WHERE schemaname = 's'")]
    wanted = [(f"s.{name}", *row) for name in names for row in shards.rows(f"SELECT {columns} FROM s.{name}")]
    assert sorted(shards.lake.rows("shop.o"), key=repr) == sorted(wanted, key=repr)


def test_tables_with_equal_keys_are_copied_and_followed(shards):
    assert shards.load().details["copied_tables"] == "s.o_1, s.o_2"
    check(shards)
    shards.run("UPDATE s.o_1 SET t = 'x' WHERE id = 1", "DELETE FROM s.o_2", "UPDATE s.o_1 SET id = 3 WHERE id = 2")
    done = shards.load()
    assert (done.details["changes"], done.details["source_tables"]) == (3, "s.o_1, s.o_2")
    check(shards)
    assert "copied_tables" not in done.details
    assert any("all changes of" in one for one in shards.load().skipped)


def test_a_truncate_of_one_table_deletes_its_rows_only(shards):
    shards.load()
    shards.run("TRUNCATE s.o_1", "INSERT INTO s.o_1 VALUES (2, 'new')", "INSERT INTO s.o_2 VALUES (5, 'd')")
    done = shards.load()
    check(shards)
    assert done.details["rows_read"] == 4  # two deletions and two rows
    shards.run("TRUNCATE s.o_1, s.o_2")
    shards.load()
    check(shards)


def test_a_table_that_is_found_later_is_copied_without_a_gap_and_without_a_repetition(shards):
    shards.load()
    shards.run(
        "CREATE TABLE s.o_3 (id int PRIMARY KEY, t text)",
        "INSERT INTO s.o_3 VALUES (1, 'x')",
        "UPDATE s.o_1 SET t = 'y'",
        "UPDATE s.o_3 SET t = 'z'",
    )
    done = shards.load()
    assert done.details["copied_tables"] == "s.o_3"
    assert done.details["changes"] == 2  # the changes of s.o_3 are in its copy
    check(shards)
    shards.run("UPDATE s.o_3 SET t = 'later'")
    assert shards.load().details["changes"] == 1
    check(shards)


def test_a_table_that_was_dropped_is_told_and_a_reload_removes_its_rows(shards):
    shards.load()
    shards.run("DROP TABLE s.o_2", "INSERT INTO s.o_1 VALUES (9, 'd')")
    with pytest.raises(PipelineError, match=r"rows of s\.o_2 were loaded, and source\.table does not find that table"):
        shards.load()
    shards.load(reload=True)
    check(shards)
    shards.run("INSERT INTO s.o_1 VALUES (10, 'd')")
    shards.load()
    check(shards)


def test_types_of_two_kinds_are_told_with_both_tables(shards):
    shards.run("ALTER TABLE s.o_2 ALTER t TYPE int USING 7")
    with pytest.raises(
        PipelineError, match=r"the column 't' is text in s\.o_1 and int4 in s\.o_2: tables of one source"
    ):
        shards.load()
    assert shards.lake.rows("shop.o") == []


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("ALTER TABLE s.o_2 RENAME t TO u", r"s\.o_2 has no column 't'; its columns are 'id', 'u'"),
        ("ALTER TABLE s.o_2 DROP CONSTRAINT o_2_pkey", r"s\.o_2 has no primary key"),
        ("ALTER TABLE s.o_2 ADD shard int", r"s\.o_2 has a column 'shard' itself: give source\.source_column another"),
        ('CREATE TABLE s."o_.x" (id int PRIMARY KEY, t text)', r"the table 'o_\.x' in the schema 's' has a dot"),
        (
            "CREATE TABLE s.o_p (id int PRIMARY KEY, t text) PARTITION BY RANGE (id); "
            "CREATE TABLE s.q PARTITION OF s.o_p DEFAULT",
            r"s\.o_p is a partitioned table, .* does not mean its parts s\.q: name its parts",
        ),
    ],
)
def test_tables_that_do_not_fit_are_told_and_nothing_is_loaded(shards, statement, said):
    shards.run(statement)
    with pytest.raises(PipelineError, match=said):
        shards.load()
    assert shards.lake.rows("shop.o") == []


def test_names_without_tables_are_told(shards):
    declare(shards, table="[s.o_1, s.o_9]")
    with pytest.raises(PipelineError, match=r"s\.o_9: there is no such table: correct source\.table"):
        shards.load()
    declare(shards, table="s.z*")
    with pytest.raises(PipelineError, match=r"s\.z\*: there is no such table"):
        shards.load()


def test_the_parts_of_a_partitioned_table_are_followed_under_their_own_names(shards):
    shards.run(
        "CREATE TABLE s.o_p (id int PRIMARY KEY, t text) PARTITION BY RANGE (id)",
        "CREATE TABLE s.o_p1 PARTITION OF s.o_p FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE s.o_p2 PARTITION OF s.o_p FOR VALUES FROM (10) TO (20)",
        "INSERT INTO s.o_p VALUES (1, 'a'), (11, 'b')",
    )
    shards.load()
    shards.run("UPDATE s.o_p SET id = 12 WHERE id = 1", "DELETE FROM s.o_p WHERE id = 11")
    shards.load()
    found = [row for row in shards.lake.rows("shop.o") if row[0].startswith("s.o_p")]
    assert found == [("s.o_p2", 12, "a")]
    shards.run("TRUNCATE s.o_p")
    shards.load()
    assert not [row for row in shards.lake.rows("shop.o") if row[0].startswith("s.o_p")]


def test_a_publication_that_names_parts_by_their_root_is_refused(shards):
    shards.run(
        "CREATE TABLE s.o_p (id int PRIMARY KEY, t text) PARTITION BY RANGE (id)",
        "CREATE TABLE s.o_p1 PARTITION OF s.o_p DEFAULT",
        "CREATE PUBLICATION p FOR ALL TABLES WITH (publish_via_partition_root)",
    )
    declare(shards, ", publication: p")
    with pytest.raises(PipelineError, match=r"s\.o_p1: the publication 'p' does not name this table"):
        shards.load()
    shards.run("ALTER PUBLICATION p SET (publish_via_partition_root = false)", "INSERT INTO s.o_p VALUES (1, 'a')")
    shards.load()
    assert ("s.o_p1", 1, "a") in shards.lake.rows("shop.o")


def test_new_columns_of_one_table_after_the_other(shards):
    declare(shards, ", schema_changes: apply")
    shards.load()
    shards.run("ALTER TABLE s.o_1 ADD n int", "UPDATE s.o_1 SET n = 5 WHERE id = 1", "UPDATE s.o_2 SET t = 'q'")
    done = shards.load()
    assert "s.o_1: the new column n" in done.details["schema_changes"]
    assert sorted(shards.lake.rows("shop.o")) == [
        ("s.o_1", 1, "a", 5),
        ("s.o_1", 2, "b", None),
        ("s.o_2", 1, "q", None),
    ]
    shards.run("ALTER TABLE s.o_2 ADD n bigint", "UPDATE s.o_2 SET n = 5000000000")
    shards.load()
    check(shards, "id, t, n")
    shards.run(
        "CREATE TABLE s.o_3 (id int PRIMARY KEY, t text, n int, m text)", "INSERT INTO s.o_3 VALUES (1, 'a', 2, 'm')"
    )
    shards.load()
    assert ("s.o_3", 1, "a", 2, "m") in shards.lake.rows("shop.o")


def test_a_later_table_with_other_columns_is_refused_unless_the_declaration_says_otherwise(shards):
    shards.load()
    shards.run("CREATE TABLE s.o_3 (id int PRIMARY KEY, t text, m text)", "INSERT INTO s.o_3 VALUES (1, 'a', 'm')")
    with pytest.raises(
        PipelineError,
        match=r"s\.o_3 was found after the first copy and has columns that no table of that copy has: m\. Add",
    ):
        shards.load()
    declare(shards, ", schema_changes: ignore")
    assert shards.load().details["ignored_columns"] == "m"
    check(shards)


@pytest.mark.parametrize("is_later", [False, True])
def test_a_wider_type_is_refused_before_rows_are_read_unless_the_declaration_says_otherwise(shards, is_later):
    narrow = "{shard: STRING, id: INT, n: SMALLINT}"
    shards.run("ALTER TABLE s.o_1 DROP t, ADD n smallint", "ALTER TABLE s.o_2 DROP t, ADD n smallint")
    declare(shards, columns=narrow)
    if is_later:
        shards.load()
    shards.run("CREATE TABLE s.o_3 (id int PRIMARY KEY, n int)", "INSERT INTO s.o_3 VALUES (1, 70000)")
    said = (
        r"the column 'n' is INT in s\.o_3 and SMALLINT in s\.o_\d, and SMALLINT in the table, which does not hold .*: "
        "declare it as INT and run `paimon-lake apply`, or set"
    )
    with pytest.raises(PipelineError, match=said):
        shards.load()
    declare(shards, ", schema_changes: ignore", columns=narrow)
    with pytest.raises(AuditFailed, match=r"s\.o_3, column n"):
        shards.load()
    declare(shards, ", schema_changes: apply" if is_later else "", columns=narrow if is_later else COLUMNS_N)
    apply(shards.lake.settings)
    shards.load()
    check(shards, "id, n")


def test_the_position_is_at_the_lowest_table(shards):
    shards.load()
    position = read_ledger(shards.lake.table("shop.o")).position
    assert list(position["tables"]) == ["s.o_1", "s.o_2"]
    assert {one["lsn"] for one in position["tables"].values()} == {position["lsn"]}


def share(shards, more=""):
    """Declare the table and ``shop.p``, which follows ``s.p``, with one slot."""
    url = shards.url.replace(PASSWORD, "${DATABASE_PASSWORD}")
    (shards.lake.folder / "base.yaml").write_text(
        f"warehouse: warehouse\npostgres: {{shop: {{url: '{url}', consistent: true{more}}}}}\n"
    )
    source = "source: {type: postgres_changes, database: shop, table:"
    shards.lake.declare("shop.o", f"columns: {COLUMNS}\n{KEY}\n{source} s.o_*, source_column: shard}}\n")
    shards.lake.declare("shop.p", f"columns: {{id: BIGINT}}\nprimary_key: id\n{source} s.p}}\n")


@pytest.fixture
def shared(shards):
    shards.run("CREATE TABLE s.p (id int PRIMARY KEY)")
    share(shards)
    shards.load()
    return shards


def versions(shards):
    """The rows of the two tables in the newest version of their group."""
    group = open_lake(shards.lake.settings).group("shop")
    return [group.table(name).scan().to_arrow().num_rows for name in ("shop.o", "shop.p")]


def test_a_version_of_the_group_has_a_later_table_at_the_position_of_all(shared):
    assert versions(shared) == [3, 0]
    shared.run(
        "INSERT INTO s.p VALUES (1)", "CREATE TABLE s.o_3 (id int PRIMARY KEY, t text)", "INSERT INTO s.o_3 VALUES (1)"
    )
    done = shared.load()
    assert done.details["copied_tables"] == "s.o_3"
    assert versions(shared) == [4, 1]
    tables = {name: read_ledger(shared.lake.table(name)).position for name in ("shop.o", "shop.p")}
    lsns = {one["lsn"] for one in [*tables.values(), *tables["shop.o"]["tables"].values()]}
    assert len(lsns) == 1


def test_errors_name_the_keys_of_base_yaml(shared):
    share(shared, ", slot: other")
    with pytest.raises(PipelineError, match=r"postgres\.shop\.slot is 'other', and changes came from"):
        shared.load()
    lag = lags(shared.lake.settings, ["shop.o"])["shop.o"]
    assert not isinstance(lag, Exception)
    share(shared)
    shared.run("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
    with pytest.raises(PipelineError, match=r"the slot '.*' does not exist, so changes may be missing: load the table"):
        shared.load()


def test_a_table_is_behind_its_sources_and_behind_a_table_that_is_found_later(shards):
    def lag():
        return lags(shards.lake.settings, ["shop.o"])["shop.o"]

    assert lag().is_behind
    shards.load()
    assert not lag().is_behind
    shards.run("UPDATE s.o_2 SET t = 'x'")
    assert lag().is_behind
    shards.load()
    assert not lag().is_behind
    shards.run("CREATE TABLE s.o_3 (id int PRIMARY KEY, t text)")
    assert (lag().is_behind, lag().note) == (True, "not copied yet: s.o_3")
    shards.run("DROP TABLE s.o_1")
    assert "rows of s.o_1 were loaded" in str(lag())


def test_release_removes_what_no_other_table_follows(shared):
    source = "source: {type: postgres_changes, database: shop, table: s.o_1}"
    shared.lake.declare("shop.o1", f"columns: {{id: BIGINT}}\nprimary_key: id\n{source}\n")
    (done,) = release(shared.lake.settings, "shop.o")
    assert done.startswith("removed s.o_2 from the publication")
    assert shared.rows("SELECT tablename FROM pg_publication_tables ORDER BY 1") == [("o_1",), ("p",)]


def test_tasks_of_spark_copy_and_convert_and_delete(followed_by_spark):
    followed = followed_by_spark
    followed.run("DROP TABLE s.o")
    for name in ("o_1", "o_2"):
        followed.run(
            f"CREATE TABLE s.{name} (id int, day date NOT NULL, n int, t text, PRIMARY KEY (id, day))",
            f"ALTER TABLE s.{name} ALTER t SET STORAGE EXTERNAL",
            f"INSERT INTO s.{name} SELECT k, '2024-01-01', 0, repeat(md5(k::text), 200) FROM generate_series(1, 9) k",
        )
    columns = "{shard: STRING, day: DATE, id: BIGINT, t: STRING NOT NULL, n: INT}"
    declare(followed, ", split: id, parts: 3", columns=columns)
    path = followed.lake.folder / "tables" / "shop.o.yaml"
    path.write_text(
        path.read_text().replace(KEY, "primary_key: [shard, day, id]\npartition_by: day\noptions: {bucket: -1}")
    )
    followed.load()
    check(followed, "day, id, t, n")
    followed.run("TRUNCATE s.o_2", "UPDATE s.o_1 SET n = id WHERE id < 5", "INSERT INTO s.o_2 SELECT * FROM s.o_1")
    followed.load()
    check(followed, "day, id, t, n")
    followed.run("TRUNCATE s.o_1", "UPDATE s.o_2 SET n = 7 WHERE id = 1")
    followed.load()
    check(followed, "day, id, t, n")


def test_rows_that_do_not_fit_are_rejects_with_the_name_of_their_table(shards):
    declare(shards, columns="{shard: STRING, id: BIGINT, t: VARCHAR(3)}")
    path = shards.lake.folder / "tables" / "shop.o.yaml"
    path.write_text(path.read_text() + "rejects: {max_share: 1}\n")
    shards.load()
    shards.run("UPDATE s.o_2 SET t = 'too long'", "UPDATE s.o_1 SET t = 'z' WHERE id = 1")
    done = shards.load()
    assert (done.details["rows_read"], done.details["rows_rejected"], done.rows_written) == (3, 1, 2)
    assert sorted(shards.lake.rows("shop.o")) == [("s.o_1", 1, "z"), ("s.o_1", 2, "b")]
    assert shards.lake.table("shop.o__rejects").scan(["file"]).to_arrow()["file"][0].as_py().endswith(" s.o_2")


def test_changes_that_the_copy_of_a_later_table_has_are_not_behind_for_ever(shards):
    shards.run("CREATE PUBLICATION everything FOR ALL TABLES")
    declare(shards, ", publication: everything")
    shards.load()
    shards.run("CREATE TABLE s.o_3 (id int PRIMARY KEY, t text)", "INSERT INTO s.o_3 VALUES (1, 'x')")
    shards.load()
    shards.load()
    assert not lags(shards.lake.settings, ["shop.o"])["shop.o"].is_behind
    assert shards.load().commits == ()
    check(shards)


def test_release_needs_no_table_that_a_pattern_finds(shared):
    source = "source: {type: postgres_changes, database: shop, table: s.q_*, source_column: shard}"
    shared.lake.declare("shop.q", f"columns: {COLUMNS}\n{KEY}\n{source}\n")
    assert release(shared.lake.settings, "shop.q") == []
    (done,) = release(shared.lake.settings, "shop.o")
    assert done.startswith("removed s.o_1, s.o_2 from the publication")
