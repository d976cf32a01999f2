"""Round trips of a cold point query: how often a read waits for the store, whatever the number of its requests."""

from __future__ import annotations

import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from tests.support.s3_proxy import Request, s3_proxy

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), *(pa.field(f"c{n}", pa.float64()) for n in range(6))])


class Rounds:
    """Holds the requests until no other has come for a while, then lets all of them pass: one round."""

    def __init__(self, quiet_seconds: float = 0.15) -> None:
        self.count = 0
        self._quiet = quiet_seconds
        self._last = 0.0
        self._state = threading.Condition()

    def hold(self, request: Request) -> Request:
        with self._state:
            mine, self._last = self.count, time.monotonic()
            while self.count == mine:
                rest = self._last + self._quiet - time.monotonic()
                if rest <= 0:
                    self.count += 1
                    self._state.notify_all()
                else:
                    self._state.wait(rest)
        return request


def rows(ids):
    values = np.random.default_rng(len(ids)).random(len(ids))
    return pa.table([pa.array(ids, pa.int64()), *([pa.array(values)] * 6)], schema=SCHEMA)


@pytest.mark.parametrize("case", ["one file", "four runs", "altered"])
def test_a_cold_point_query_waits_at_most_six_times(s3, s3_endpoint, case):
    catalog = paimon.open_catalog(s3.url, storage=s3.options)
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA, primary_key=["id"], options={"bucket": "2", "write-only": "true"})
    table.write(rows(np.arange(60_000)))
    if case == "four runs":
        for some in range(3):
            table.write(rows(np.arange(some, 60_000, 7)))
    elif case == "altered":
        table.alter("ADD COLUMN note STRING")
    with s3_proxy(s3_endpoint) as proxy:
        options = {**s3.options, "s3.endpoint": proxy.endpoint}
        paimon.open_catalog(s3.url, storage=options).list_databases()  # connects
        rounds, passed = Rounds(), proxy.fault
        proxy.fault = lambda request: passed(rounds.hold(request))
        found = paimon.open_catalog(s3.url, storage=options).table("db.t").scan(where=col("id") == 31_000).to_arrow()
        assert found["id"].to_pylist() == [31_000]
        assert proxy.count(key="bucket-") > 2
        # The newest schema of an altered table is not schema-0, and its file has another schema than the table.
        assert rounds.count <= (8 if case == "altered" else 6)
