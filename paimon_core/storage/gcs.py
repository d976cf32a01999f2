"""Google Cloud Storage through gcsfs, whose credentials, session and event loop are used.

Requests are those of the JSON API, one by one. gcsfs repeats failed ones, except the publish of a snapshot.
"""

from __future__ import annotations

import asyncio
import datetime
import warnings
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import aiohttp
import google.auth.exceptions
from gcsfs.core import GCSFileSystem, UnclosableBytesIO

from paimon_core.storage.object_store import Failure, Meaning, Page, StoredObject, Upload, meaning_of
from paimon_core.storage.time_out import REQUESTS, STANDARD, TimeOut

PART_BYTES = 16 * 1024 * 1024
"""A multiple of the 256 KiB that parts must be."""
AT_ONCE = 32
_OBJECT, _OBJECTS = "b/{}/o/{}", "b/{}/o"
_TOKENS = {"APPLICATION_DEFAULT": "google_default", "COMPUTE_ENGINE": "cloud", "UNAUTHENTICATED": "anon"}


def open_store(bucket: str, options: Mapping[str, str]) -> GcsStore:
    """The bucket with the operator's options; without any, the machine's default credentials."""
    keyfile = options.get("fs.gs.auth.service.account.json.keyfile")
    kind = options.get("fs.gs.auth.type")
    time_out = TimeOut.of(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no project, which only buckets need
        client = GCSFileSystem(
            project=options.get("fs.gs.project.id"),
            token=_TOKENS.get(kind, keyfile) if kind else keyfile,
            endpoint_url=options.get("fs.gs.storage.root.url"),
            requests_timeout=time_out.seconds,
            use_listings_cache=False,
            skip_instance_cache=True,
        )
    return GcsStore(bucket, client, time_out)


@dataclass(frozen=True)
class GcsStore:
    """One bucket."""

    bucket: str
    client: Any
    time_out: TimeOut = STANDARD
    part_bytes: int = PART_BYTES

    def head(self, key: str) -> StoredObject:
        """One request for the object's metadata."""
        return _stored(self._json("GET", _OBJECT, key))

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        """One GET, of a range or of everything."""
        if end is not None and end <= start:
            return b""
        if end is None and not start:
            return self._read(key, None, None)[0]
        return self._read(key, f"bytes={start}-{'' if end is None else end - 1}", start)[0]

    def read_tail(self, key: str, count: int) -> tuple[bytes, int]:
        """One GET of the last bytes."""
        return self._read(key, f"bytes=-{count}", None)

    def _read(self, key: str, wanted: str | None, start: int | None) -> tuple[bytes, int]:
        path = f"{self.client._location}/download/storage/v1/{_OBJECT}"
        try:
            head = {} if wanted is None else {"Range": wanted}
            headers, data = self._run(self.client._call("GET", path, self.bucket, key, alt="media", headers=head))
        except Exception as error:
            if _status(error) != 416:
                raise
        else:
            if "Content-Range" not in headers:
                size = int(headers.get("X-Goog-Stored-Content-Length", len(data)))
                if size != len(data):
                    raise EOFError(f"{len(data)} bytes came of {size}")
                return data, size
            span, _, size = headers["Content-Range"].removeprefix("bytes ").partition("/")
            first, _, last = span.partition("-")
            if len(data) != int(last) - int(first) + 1:
                raise EOFError(f"{len(data)} bytes came of {span}")
            return data, int(size)
        size = self.head(key).size  # no byte of the range exists: an empty object, or one that is too short
        if start:
            raise EOFError(f"{key} has {size} bytes, and those from {start} were asked for")
        return b"", size

    def put(self, key: str, data: bytes) -> None:
        """One upload."""
        self._run(self.client._request("POST", self._upload_path, name=key, data=_body(data), **self._media))

    def put_new(self, key: str, data: bytes) -> None:
        """One upload with ``ifGenerationMatch=0``, past the layer that would repeat it."""
        request = type(self.client)._request.__wrapped__
        self._run(
            request(self.client, "POST", self._upload_path, name=key, data=data, ifGenerationMatch="0", **self._media),
            1,
        )

    @property
    def _upload_path(self) -> str:
        return f"{self.client._location}/upload/storage/v1/b/{quote(self.bucket, safe='')}/o"

    @property
    def _media(self) -> dict[str, Any]:
        return {"uploadType": "media", "headers": {"Content-Type": "application/octet-stream"}}

    def upload(self, key: str) -> Upload:
        """A resumable upload."""
        begin = self.client._call("POST", self._upload_path, name=key, uploadType="resumable", json={"name": key})
        return GcsUpload(self, self._run(begin)[0]["Location"])

    def page(self, prefix: str, *, is_flat: bool, token: str | None, limit: int | None = None) -> Page:
        """One listing of up to 1,000 keys."""
        found = self._json(
            "GET",
            _OBJECTS,
            prefix=prefix,
            delimiter=None if is_flat else "/",
            pageToken=token,
            maxResults=limit or 1000,
            fields="items(name,size,updated),prefixes,nextPageToken",
        )
        return Page(
            tuple(_stored(o) for o in found.get("items", ())),
            tuple(found.get("prefixes", ())),
            found.get("nextPageToken"),
        )

    def delete(self, keys: Sequence[str]) -> int:
        """One DELETE a key, many at once."""
        return sum(self._run(_gather(self._delete_one, keys), REQUESTS * (1 + len(keys) // AT_ONCE)))

    async def _delete_one(self, key: str) -> int:
        try:
            await self.client._call("DELETE", _OBJECT, self.bucket, key)
        except FileNotFoundError:
            return 0
        return 1

    def copy(self, source: str, target: str) -> None:
        """A rewrite within the store, in as many steps as it takes."""
        path = f"{_OBJECT}/rewriteTo/b/{{}}/o/{{}}"
        token: str | None = None
        while True:
            done = self._run(
                self.client._call(
                    "POST", path, self.bucket, source, self.bucket, target, json_out=True, rewriteToken=token
                )
            )
            if done.get("done", True):
                return
            token = done["rewriteToken"]

    def mark_directory(self, key: str) -> None:
        """An empty object whose name ends in a slash."""
        self.put(f"{key}/", b"")

    def failure(self, error: BaseException) -> Failure:
        """By HTTP status; without one, only what was never sent is sure to have done nothing."""
        text = f"{type(error).__name__}: {error}"
        status = _status(error)
        if status is not None:
            return Failure(meaning_of(status), text, status)
        if isinstance(error, FileNotFoundError):
            return Failure(Meaning.MISSING, text, 404)
        if isinstance(error, FileExistsError):
            return Failure(Meaning.EXISTS, text, 412)
        is_unsent = isinstance(error, aiohttp.ClientConnectorError | google.auth.exceptions.GoogleAuthError)
        is_bad = isinstance(error, ValueError) and str(error).startswith("Bad Request")
        return Failure(Meaning.REFUSED if is_unsent or is_bad else Meaning.UNKNOWN, text)

    def _json(self, method: str, path: str, *names: str, **wanted: Any) -> dict[str, Any]:
        found = self._run(self.client._call(method, path, self.bucket, *names, json_out=True, **wanted))
        return dict(found)

    def _run(self, request: Coroutine[Any, Any, Any], most: int = REQUESTS) -> Any:
        return self.time_out.run(self.client.loop, lambda: request, most)


@dataclass
class GcsUpload:
    """A resumable upload. The last part must say that it is the last, so one is always held back."""

    store: GcsStore
    location: str
    sent: int = 0
    held: bytes = field(default=b"", repr=False)

    def part(self, data: bytes) -> None:
        """Send the part before this one."""
        if self.held:
            self._send(self.held, is_last=False)
        self.held = data

    def complete(self) -> None:
        """Send the last part, with which the object appears."""
        self._send(self.held, is_last=True)

    def abort(self) -> None:
        """Drop the upload; the store answers 499 for "cancelled"."""
        self.store._run(self.store.client._call("DELETE", self.location))

    def _send(self, data: bytes, *, is_last: bool) -> None:
        end = self.sent + len(data)
        headers = {"Content-Range": f"bytes {self.sent}-{end - 1}/{end if is_last else '*'}"}
        self.store._run(self.store.client._call("PUT", self.location, headers=headers, data=_body(data)))
        self.sent = end


def _body(data: bytes) -> Any:
    """aiohttp takes large bodies from a file only; this one survives being sent twice."""
    return UnclosableBytesIO(data)


async def _gather(action: Any, keys: Sequence[str]) -> list[int]:
    room = asyncio.Semaphore(AT_ONCE)

    async def one(key: str) -> int:
        async with room:
            return int(await action(key))

    return await asyncio.gather(*(one(key) for key in keys))


def _status(error: BaseException) -> int | None:
    code = getattr(error, "code", None) or getattr(error, "status", None)
    if code is not None and str(code).isdigit():
        return int(code)
    return 403 if type(error) is OSError and str(error).startswith("Forbidden") else None


def _stored(found: Mapping[str, Any]) -> StoredObject:
    updated = datetime.datetime.fromisoformat(found["updated"]) if "updated" in found else None
    return StoredObject(
        found["name"],
        int(found.get("size", 0)),
        int(updated.timestamp() * 1000) if updated else 0,
        found["name"].endswith("/"),
    )
