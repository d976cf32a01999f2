"""A server with scripted answers, written after the OpenAPI text of Paimon's REST catalog.

Other tests run the client against Paimon's own server (tests/oracle). This one does what that server never does: it is
busy, fails, drops answers or sends invalid ones.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot


@dataclass(frozen=True)
class Reply:
    """One answer; ``lost``: the request is read and the connection is closed without an answer."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    lost: bool = False


@dataclass
class Request:
    method: str
    path: str
    body: Any
    headers: Mapping[str, str]


class ScriptedServer:
    """Sends replies selected by the start of "METHOD path", each once, the last one always; stores all requests."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.replies: dict[str, list[Reply]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                text = self.rfile.read(length)
                outer.requests.append(
                    Request(self.command, self.path, json.loads(text) if text else None, dict(self.headers))
                )
                outer.answer(self, f"{self.command} {self.path}")

            do_GET = do_POST = do_DELETE = handle_one

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.uri = f"http://127.0.0.1:{self._server.server_port}"

    def on(self, start: str, *replies: Reply) -> None:
        self.replies[start] = list(replies)

    def answer(self, handler: BaseHTTPRequestHandler, line: str) -> None:
        start = max((s for s in self.replies if line.startswith(s)), key=len)
        queue = self.replies[start]
        reply = queue.pop(0) if len(queue) > 1 else queue[0]
        if reply.lost:
            handler.close_connection = True
            handler.connection.close()
            return
        data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body or {}).encode()
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class CommittingServer:
    """Makes a scripted server commit to one table as Java's server 2.0: only on the latest snapshot, given by uuid."""

    def __init__(self, server: ScriptedServer, table: str, files: TableContext) -> None:
        self.files = files
        self.before: Callable[[], Any] = lambda: None
        """What a concurrent process does right before the next commit arrives."""
        scripted = server.answer

        def answer(handler: BaseHTTPRequestHandler, line: str) -> None:
            if line == f"POST {table}/commit":
                server.on(line, Reply(body={"success": self._commit(server.requests[-1].body)}))
            scripted(handler, line)

        server.answer = answer  # type: ignore[method-assign]

    def _commit(self, body: Any) -> bool:
        before, self.before = self.before, lambda: None
        before()
        latest = self.files.snapshots.latest()
        if body.get("baseSnapshotUuid") != (None if latest is None else latest.uuid):
            return False
        return self.files.snapshots.publish(Snapshot.from_members(body["snapshot"]))
