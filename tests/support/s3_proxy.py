"""An HTTP proxy in front of an S3 server that injects the faults of networks and stores by a rule.

Every request is counted. The rule gets the request and returns whether the server receives it and what the client
receives.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit


class Request(NamedTuple):
    """The request that a rule gets; ``kind`` is the S3 operation."""

    kind: str
    key: str


@dataclass(frozen=True)
class Fault:
    """The handling of a request; by default it is passed on unchanged."""

    forward: bool = True
    """Whether the server receives the request."""
    drop: bool = False
    """Close the connection instead of answering."""
    status: int | None = None
    """Answer with this status and an error of this ``code`` instead of the server's answer."""
    code: str = "InternalError"
    keep_bytes: int | None = None
    """Close the connection after this many bytes of the body."""
    add_length: int = 0
    """Add this number to the Content-Length of the answer."""
    garbage: bool = False
    """Answer with these bytes, which are not HTTP."""
    unconditional: bool = False
    """Remove ``If-None-Match`` from the request."""
    body: bytes | None = None
    """Answer with this body instead of the server's, or with status 200."""


PASS = Fault()
Rule = Callable[[Request], Fault]


@dataclass
class Proxy:
    """A running proxy; ``rule`` may be replaced at any time."""

    endpoint: str
    rule: Rule = field(default=lambda request: PASS)
    requests: list[Request] = field(default_factory=list)
    ranges: list[tuple[str, int, int]] = field(default_factory=list)
    """(key, position of the first byte, position after the last byte) of each answer with a part of an object."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fault(self, request: Request) -> Fault:
        with self.lock:
            self.requests.append(request)
            return self.rule(request)

    def count(self, kind: str = "", key: str = "") -> int:
        return sum((not kind or r.kind == kind) and key in r.key for r in self.requests)

    def script(self, kind: str, key: str, *faults: Fault) -> None:
        """Apply these faults to the next requests of this kind on such a key, one each; later requests have none."""
        rest = list(faults)

        def rule(request: Request) -> Fault:
            return rest.pop(0) if rest and request.kind == kind and key in request.key else PASS

        self.rule = rule

    def always(self, kind: str, key: str, fault: Fault) -> None:
        self.rule = lambda request: fault if request.kind == kind and key in request.key else PASS


@contextlib.contextmanager
def s3_proxy(upstream: str) -> Iterator[Proxy]:
    host = urlsplit(upstream).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
                raise NotImplementedError
            fault = proxy.fault(_request(self.command, self.path, self.headers))
            answer = self.ask(body, fault) if fault.forward else None
            if fault.drop:
                self.hang_up()
            elif fault.garbage:
                self.wfile.write(b"\x00\xff nonsense\r\n\r\n")
                self.hang_up()
            elif fault.status is not None:
                self.answer(fault.status, {"Content-Type": "application/xml"}, _error(fault), fault)
            elif fault.body is not None:
                status, headers, _ = answer or (200, {"Content-Type": "application/xml"}, b"")
                self.answer(status, headers, fault.body, fault)
            elif answer is not None:
                self.answer(*answer, fault)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

        def ask(self, body: bytes, fault: Fault) -> tuple[int, dict[str, str], bytes]:
            connection = http.client.HTTPConnection(host, timeout=60)
            headers = {k: v for k, v in self.headers.items() if k.lower() != "connection"}
            if fault.unconditional:
                headers = {k: v for k, v in headers.items() if k.lower() != "if-none-match"}
            connection.request(self.command, self.path, body or None, headers)
            reply = connection.getresponse()
            data = reply.read()
            skipped = ("connection", "transfer-encoding", "content-length", "date", "server")
            kept = {k: v for k, v in reply.getheaders() if k.lower() not in skipped}
            if self.command == "HEAD":
                kept["Content-Length"] = reply.getheader("Content-Length") or "0"
            connection.close()
            if part := reply.getheader("Content-Range"):
                first, last = map(int, part.removeprefix("bytes ").partition("/")[0].split("-"))
                with proxy.lock:
                    proxy.ranges.append((unquote(urlsplit(self.path).path), first, last + 1))
            return reply.status, kept, data

        def answer(self, status: int, headers: dict[str, str], data: bytes, fault: Fault) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(data) + fault.add_length))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data if fault.keep_bytes is None else data[: fault.keep_bytes])
            if fault.keep_bytes is not None or fault.add_length:
                self.hang_up()

        def hang_up(self) -> None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *args: Any) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    proxy = Proxy(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _request(method: str, path: str, headers: Any) -> Request:
    parts = urlsplit(path)
    bucket_and_key = unquote(parts.path).lstrip("/")
    key = bucket_and_key.partition("/")[2]
    query = parts.query
    if method == "GET" and not key:
        return Request("LIST", unquote(query))
    if method == "PUT" and "If-None-Match" in headers:
        return Request("PUBLISH", key)
    if method == "PUT" and "partNumber" in query:
        return Request("PART", key)
    if method == "PUT" and "x-amz-copy-source" in headers:
        return Request("COPY", key)
    if method == "POST" and "delete" in query:
        return Request("DELETE", "")
    if method == "POST":
        return Request("COMPLETE" if "uploadId" in query else "BEGIN", key)
    if method == "DELETE" and "uploadId" in query:
        return Request("ABORT", key)
    return Request(method, key)


def _error(fault: Fault) -> bytes:
    return (
        f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{fault.code}</Code><Message>injected</Message>"
        "<RequestId>1</RequestId></Error>"
    ).encode()
