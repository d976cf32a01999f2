"""Metrics by OTLP: what a collector receives, and what is refused; secrets are in headers only."""

from __future__ import annotations

import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.cli.main import main
from paimon_core.health.metrics import MEASURES
from paimon_core.health.otlp import ENDPOINT, METRICS_ENDPOINT, PROTOCOLS, otlp_endpoint, send_metrics

SECRET = "Bearer top-secret-value"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in (ENDPOINT, METRICS_ENDPOINT, *PROTOCOLS):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def collector(monkeypatch):
    """Return (URL, received (path, headers, body), the statuses of the next answers)."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otlp")
    received, statuses = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(statuses.pop(0) if statuses else 200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", received, statuses
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def lake(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("a")
    for name in ("a.one", "a.two"):
        catalog.create_table(name, pa.schema([("id", pa.int64())])).write(pa.table({"id": [1, 2]}))
    return warehouse


def values(body):
    """Return {metric: {labels: value}} and the resource of a request."""
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    (resource,) = ExportMetricsServiceRequest.FromString(body).resource_metrics
    (scope,) = resource.scope_metrics
    found = {}
    for metric in scope.metrics:
        points = metric.gauge.data_points
        found[metric.name] = {
            tuple(sorted((a.key, a.value.string_value) for a in point.attributes)): getattr(
                point, point.WhichOneof("value")
            )
            for point in points
        }
    return found, {a.key: a.value.string_value for a in resource.resource.attributes}


def test_a_collector_receives_each_measure_of_each_table(lake, collector, capsys, monkeypatch):
    url, received, _ = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization={SECRET}")
    assert main(["metrics", "--otlp", url, "--warehouse", lake]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"sent {2 * (len(MEASURES) + 3):,} values of 2 tables\n"
    ((path, headers, body),) = received
    assert (path, headers["content-type"]) == ("/v1/metrics", "application/x-protobuf")
    assert headers["authorization"] == SECRET
    assert "top-secret" not in printed.out + printed.err
    found, resource = values(body)
    assert resource["service.name"] == "paimon"
    assert {f"paimon_table_{name}" for name in MEASURES} <= set(found)
    one = (("branch", "main"), ("table", "a.one"))
    health = paimon.open_catalog(lake).table("a.one").health()
    assert found["paimon_table_rows_in_files"] == {one: 2, (("branch", "main"), ("table", "a.two")): 2}
    assert found["paimon_table_live_bytes"][one] == health.measures["live_bytes"]
    assert found["paimon_table_score"][one] == health.score
    assert found["paimon_table_findings"][(("branch", "main"), ("severity", "error"), ("table", "a.one"))] == 0


def test_a_table_that_cannot_be_read_is_told(collector):
    url, received, _ = collector
    assert send_metrics([], ["a.bad"], url) == 1
    found, _ = values(received[0][2])
    assert found == {"paimon_table_unreadable": {(("table", "a.bad"),): 1}}


def test_the_url_comes_from_the_environment(lake, collector, capsys, monkeypatch):
    url, received, _ = collector
    monkeypatch.setenv(ENDPOINT, f"{url}/base/")
    assert main(["metrics", "a.one", "--otlp", "--json", "--warehouse", lake]) == 0
    assert '"sent": ' in capsys.readouterr().out
    monkeypatch.setenv(METRICS_ENDPOINT, f"{url}/exact")
    assert main(["metrics", "a.one", "--otlp", "--warehouse", lake]) == 0
    assert [path for path, *_ in received] == ["/base/v1/metrics", "/exact"]


def test_a_collector_that_refuses_is_an_error(lake, collector, capsys, monkeypatch):
    url, received, statuses = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization={SECRET}")
    statuses.append(401)
    assert main(["metrics", "--otlp", url, "--warehouse", lake]) == 1
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines()), len(received)) == ("", 1, 1)
    assert f"the collector {url}/v1/metrics did not accept the metrics: " in printed.err
    assert "401" in printed.err
    assert "top-secret" not in printed.err


def test_the_error_names_the_extra(lake, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.metric_exporter", None)
    assert main(["metrics", "--otlp", "http://127.0.0.1:1", "--warehouse", lake]) == 2
    assert "pip install paimon-core[otlp]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--otlp"], "--otlp needs the URL of a collector, or the environment variable OTEL_EXPORTER_OTLP_ENDPOINT"),
        (["--otlp", "a.one"], "the URL of the collector must be a URL such as http://localhost:4318, not 'a.one'"),
        (["--otlp", "ftp://x"], "must be a URL such as http://localhost:4318, not 'ftp://x'"),
        (["--otlp", "http://u:top-secret@host:1"], "must not contain a user, a query or a fragment"),
        (["--otlp", "http://host:1/?key=top-secret"], "must not contain a user, a query or a fragment"),
        (["--otlp", "ftp://u:top-secret@host"], "not 'host'"),
        (["--otlp", "http://host:99999"], "must be a URL"),
        (["--otlp", "http://host", "--output", "x"], "give one of both"),
    ],
)
def test_wrong_arguments(lake, capsys, arguments, said):
    assert main(["metrics", "--warehouse", lake, *arguments]) == 2
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == ("", 1)
    assert said in printed.err
    assert "top-secret" not in printed.err


def test_another_protocol_is_refused(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(paimon.InvalidRequest, match="must be http/protobuf, not 'grpc'"):
        otlp_endpoint("http://host")
