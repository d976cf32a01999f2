"""Bad answers: what a REST server or a SQL database may say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import paimon_core as paimon
from paimon_core.catalog.catalog import Catalog
from paimon_core.errors import InvalidRequest, PaimonError, StorageError
from tests.bad_inputs.case import SECRET, Case, Cases, Lake, case
from tests.support.rest_server import Reply, ScriptedServer

TABLE = "/v1/databases/db/tables/t"
FIELDS = [{"id": 0, "name": "k", "type": "INT"}]
SCHEMA = {"fields": FIELDS, "partitionKeys": [], "primaryKeys": [], "options": {}}
TOLD = {"id": "i", "name": "t", "path": "memory:///bad-inputs-rest/t", "schemaId": 0, "schema": SCHEMA}


def asked(
    call: Callable[[Catalog], Any], error: type[Exception], *says: str, config: Reply | None = None, **replies: Any
) -> Case:
    """A call to a server with these answers: ``tables`` to a list of tables, ``table`` to a table."""

    def on_server(lake: Lake) -> Any:
        with closing(ScriptedServer()) as server:
            server.on("GET /v1/config", config or Reply(body={"defaults": {}, "overrides": {}}))
            server.on("GET /v1/databases", Reply(body=replies.get("databases", {"databases": ["db"]})))
            server.on("GET /v1/databases/db/tables", Reply(body=replies.get("tables", {"tables": ["t"]})))
            server.on(f"GET {TABLE}", Reply(body=replies.get("table", TOLD)))
            server.on(f"GET {TABLE}/snapshot", Reply(body=replies.get("snapshot", {})))
            return call(paimon.open_catalog("lake", type="rest", uri=server.uri, options={"token": SECRET}))

    return case(on_server, error, *says)


def table(error: type[Exception], *says: str, **changed: Any) -> Case:
    return asked(lambda catalog: catalog.table("db.t"), error, *says, table=TOLD | changed)


CASES: Cases = {
    "a configuration that is no JSON": asked(lambda c: c, PaimonError, "JSON", config=Reply(body=b"<html>")),
    "a configuration that is a list": asked(lambda c: c, PaimonError, "JSON object|answer", config=Reply(body=b"[1]")),
    "a configuration of other types": asked(
        lambda c: c,
        PaimonError,
        "configuration is not a JSON object of strings",
        config=Reply(body={"defaults": [1], "overrides": 7}),
    ),
    "a configuration that asks for more": asked(
        lambda c: c, PaimonError, "token.provider", config=Reply(body={"overrides": {"token.provider": "dlf"}})
    ),
    "a configuration that is refused": asked(
        lambda c: c, InvalidRequest, "401", config=Reply(401, {"message": f"{SECRET} is wrong\nand so on"})
    ),
    "an error of 1 MB": asked(lambda c: c, InvalidRequest, "400", config=Reply(400, {"message": "x" * 1_000_000})),
    "tables that are a number": asked(lambda c: c.list_tables("db"), StorageError, "tables", tables={"tables": 7}),
    "tables that are numbers": asked(
        lambda c: c.list_tables("db"), StorageError, "tables", tables={"tables": [7, "a"]}
    ),
    "databases that are a text": asked(
        lambda c: c.list_databases(), StorageError, "databases", databases={"databases": "db"}
    ),
    "a table without a path": table(PaimonError, "path", path=None),
    "a table at a path that is a number": table(PaimonError, "path", path=7),
    "a table over http": table(PaimonError, "http", path="http://host/t"),
    "a table without a schema": table(PaimonError, "schema", schema=None),
    "a schema that is a list": table(PaimonError, "schema", schema=[1]),
    "a schema id that is text": table(PaimonError, "schemaId|schema", schemaId="first"),
}
