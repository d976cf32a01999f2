"""Lakes whose names are in a SQL database, and lakes of a REST server."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from paimon_core.catalog.rest.rest_catalog import RestCatalog
from paimon_core.catalog.sql.sql_catalog import SqlCatalog
from paimon_lake.cli.main import main
from paimon_lake.declarations import SettingsError, load_settings
from paimon_lake.loads.inputs.stale import stale_now
from paimon_lake.steps.audits.audit import audit
from paimon_lake.tables import open_lake
from tests.support.lakes import SmallLake, small_lake
from tests.support.rest_server import Reply, ScriptedServer

ORDERS = """
    columns: {id: BIGINT, day: DATE, amount: INT}
    primary_key: [id]
    source: {type: files, path: "data/{date}.csv"}
    partitions: {by: day, start: 2024-01-01, column: day}
    rejects: {max_share: 0.5}
"""
TOTAL = """
    columns: {amount: BIGINT}
    natural_key: [amount]
    source: {type: sql, inputs: [shop.orders], query: SELECT sum(amount) AS amount FROM shop.orders}
    checks: [{type: row_count, min: 1, block: true}]
"""
CANARY = "canary-7f3a"


def with_catalog(lake: SmallLake, catalog: str, warehouse: str = "warehouse") -> SmallLake:
    lake.file("base.yaml", f"warehouse: {warehouse}\ncatalog: {{{catalog}}}\nlanding_directory: /nowhere\n")
    lake.declare("shop.orders", ORDERS)
    lake.declare("shop.total", TOTAL)
    lake.file("data/2024-01-01.csv", "id,day,amount\n1,2024-01-01,1\n2,2024-01-01,2\nx,2024-01-01,2\n")
    return lake


def loads_and_checks(lake: SmallLake) -> None:
    """Load rows, rejects and a query, and look at the tables with every step that opens them."""
    assert lake.load("shop.orders").details["rows_rejected"] == 1
    lake.load("shop.total")
    assert lake.rows("shop.total") == [(3,)]
    assert lake.load("shop.orders").commits == ()
    lake.file("data/2024-01-02.csv", "id,day,amount\n3,2024-01-02,4\n")
    lake.load("shop.orders", "2024-01-02")
    assert stale_now(lake.settings, "shop.total")
    lake.load("shop.total")
    assert lake.rows("shop.total") == [(7,)]
    assert all(finding.passed for name in ("shop.orders", "shop.total") for finding in audit(lake.settings, name))


@pytest.mark.long
def test_a_lake_with_a_sql_catalog(lake: SmallLake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A relative path of SQLite starts at the folder of the declarations."""
    with_catalog(lake, "type: sql, uri: 'sqlite:///names.db', lock.enabled: true")
    assert isinstance(open_lake(lake.settings), SqlCatalog)
    loads_and_checks(lake)
    with sqlite3.connect(lake.folder / "names.db") as connection:
        names = {name for (name,) in connection.execute("SELECT table_name FROM paimon_tables")}
    assert names == {"orders", "orders__rejects", "total", "total__rejects"}
    asked = ["--configs", str(lake.folder), "--env", "local"]
    assert main(["show", *asked]) == main(["check", *asked]) == 0
    assert main(["expire", "--table", "shop.orders", *asked]) == 0
    assert main(["rollback", "--table", "shop.total", "--snapshot", "1", "--apply", *asked]) == 0
    assert "shop.orders" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.java
def test_a_lake_of_a_rest_server(lake: SmallLake, oracle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = {"op": "startRest", "name": "lake", "path": f"file://{tmp_path}/served", "token": CANARY}
    (started,) = oracle.run(tmp_path / "served", [served])
    monkeypatch.setenv("LAKE_TOKEN", CANARY)
    try:
        with_catalog(lake, f"type: rest, uri: '{started['uri']}', token: '${{LAKE_TOKEN}}'", "lake")
        assert isinstance(open_lake(lake.settings), RestCatalog)
        loads_and_checks(lake)
    finally:
        oracle.run(tmp_path / "served", [{"op": "stopRest", "uri": started["uri"]}])


@pytest.mark.parametrize(
    ("catalog", "message"),
    [
        ("type: hive", r"base\.yaml:2: catalog\.type: must be filesystem, sql or rest, not 'hive'"),
        ("type: sql", r"base\.yaml:2: catalog: a catalog of type sql needs uri"),
        ("uri: 'sqlite:///x.db'", r"base\.yaml:2: catalog\.uri: a catalog of type filesystem has no uri"),
        ("type: sql, uri: 'sqlite:///:memory:'", "a database in memory"),
        (
            "type: sql, uri: 'sqlite:///x.db', lock.enable: true",
            r"lock\.enable: is no option .*did you mean lock\.enabled",
        ),
        ("type: sql, uri: 'sqlite:///x.db', lock.enabled: maybe", r"lock\.enabled = 'maybe' must be"),
        (
            f"type: rest, uri: 'http://x', token: {CANARY}",
            r"catalog\.token is a secret: write the name of its variable",
        ),
        (f"type: rest, uri: 'http://x', header.auth: {CANARY}", r"catalog\.header\.auth is a secret"),
        (f"type: sql, uri: 'postgresql+psycopg://me:{CANARY}@db/x'", r"catalog\.uri contains a password"),
    ],
)
def test_a_catalog_that_cannot_be_opened_is_refused_when_the_lake_is_read(
    tmp_path: Path, catalog: str, message: str
) -> None:
    lake = with_catalog(small_lake(tmp_path / "lake"), catalog)
    with pytest.raises(SettingsError, match=message) as raised:
        load_settings("local", configs=lake.folder)
    assert CANARY not in str(raised.value)


def test_secrets_of_a_catalog_are_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_TOKEN", CANARY)
    uri = "postgresql+psycopg://me:${LAKE_TOKEN}@db/x"
    for catalog in (f"type: sql, uri: '{uri}'", "type: rest, uri: 'http://x', token: '${LAKE_TOKEN}'"):
        lake = with_catalog(small_lake(tmp_path / catalog[6:10]), catalog)
        assert CANARY not in repr(lake.settings)
        assert CANARY in str(lake.settings.catalog)


def test_a_name_of_a_rest_warehouse_is_no_path(tmp_path: Path) -> None:
    lake = with_catalog(small_lake(tmp_path / "lake"), "type: rest, uri: 'http://x'", "main")
    assert (lake.settings.warehouse, lake.settings.is_remote) == ("main", True)
    assert load_settings("local", configs=lake.folder, warehouse="other").warehouse == "other"


def test_an_error_of_a_server_has_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAKE_TOKEN", CANARY)
    server = ScriptedServer()
    server.on("GET ", Reply(status=403, body={"message": "no", "code": 403}))
    catalog = f"type: rest, uri: '{server.uri}', token: '${{LAKE_TOKEN}}'"
    lake = with_catalog(small_lake(tmp_path / "lake"), catalog, "main")
    try:
        assert main(["show", "--configs", str(lake.folder), "--env", "local"]) != 0
    finally:
        server.close()
    shown = capsys.readouterr()
    assert CANARY not in shown.out + shown.err
