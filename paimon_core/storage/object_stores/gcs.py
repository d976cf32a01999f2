"""Google Cloud Storage: requests of the JSON API, sent with the credentials, session and event loop of gcsfs.

gcsfs repeats failed requests, except the request that publishes a snapshot.
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

from paimon_core.storage.object_stores.object_store import Failure, Meaning, Page, StoredObject, Upload, meaning_of
from paimon_core.storage.object_stores.time_out import REQUESTS, STANDARD, TimeOut

PART_BYTES = 16 * 1024 * 1024
"""Size in bytes of the parts of an upload; must be a multiple of 256 KiB."""
AT_ONCE = 32
_OBJECT, _OBJECTS = "b/{}/o/{}", "b/{}/o"
_TOKENS = {"APPLICATION_DEFAULT": "google_default", "COMPUTE_ENGINE": "cloud", "UNAUTHENTICATED": "anon"}


def open_store(bucket: str, options: Mapping[str, str]) -> GcsStore:
    """Open the bucket with the operator's options; without options, with the machine's default credentials."""
    keyfile = options.get("fs.gs.auth.service.account.json.keyfile")
    kind = options.get("fs.gs.auth.type")
    time_out = TimeOut.of(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gcsfs warns that no project is set, which only bucket operations need
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
    """One bucket; ``ObjectStore`` describes the methods."""

    bucket: str
    client: Any
    time_out: TimeOut = STANDARD
    part_bytes: int = PART_BYTES

    def head(self, key: str) -> StoredObject:
        """Return the object's size and time, with one request."""
        return _stored(self._json("GET", _OBJECT, key))

    def read(self, key: str, start: int = 0, end: int | None = None, version: str = "") -> bytes:
        """Read a range or the whole object with one GET; the version of an object is its generation."""
        if end is not None and end <= start:
            return b""
        if end is None and not start:
            return self._read(key, None, None, version)[0]
        return self._read(key, f"bytes={start}-{'' if end is None else end - 1}", start, version)[0]

    def read_tail(self, key: str, count: int, version: str = "") -> tuple[bytes, int]:
        """Read the last bytes with one GET."""
        return self._read(key, f"bytes=-{count}", None, version)

    def _read(self, key: str, wanted: str | None, start: int | None, version: str) -> tuple[bytes, int]:
        path = f"{self.client._location}/download/storage/v1/{_OBJECT}"
        try:
            head = {} if wanted is None else {"Range": wanted}
            more = {"ifGenerationMatch": version} if version else {}
            get = self.client._call("GET", path, self.bucket, key, alt="media", headers=head, **more)
            headers, data = self._run(get)
        except Exception as error:
            if _status(error) != 416:
                raise
        else:
            if version and headers.get("X-Goog-Generation", version) != version:  # emulators ignore the condition
                raise FileExistsError(f"{key} has another generation than {version}")
            if "Content-Range" not in headers:
                size = int(headers.get("X-Goog-Stored-Content-Length", len(data)))
                if size != len(data):
                    raise EOFError(f"the answer contains {len(data)} bytes of {size}")
                return data, size
            span, _, size = headers["Content-Range"].removeprefix("bytes ").partition("/")
            first, _, last = span.partition("-")
            if len(data) != int(last) - int(first) + 1:
                raise EOFError(f"the answer contains {len(data)} bytes of range {span}")
            return data, int(size)
        size = self.head(key).size  # the range contains no byte: the object is empty or too short
        if start:
            raise EOFError(f"{key} has {size} bytes, but bytes from {start} were requested")
        return b"", size

    def put(self, key: str, data: bytes) -> None:
        """Create or replace an object with one upload."""
        self._run(self.client._request("POST", self._upload_path, name=key, data=_body(data), **self._media))

    def put_new(self, key: str, data: bytes) -> None:
        """Create an object with one upload with ``ifGenerationMatch=0``; gcsfs does not repeat this request."""
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
        """Start a resumable upload."""
        begin = self.client._call("POST", self._upload_path, name=key, uploadType="resumable", json={"name": key})
        return GcsUpload(self, self._run(begin)[0]["Location"])

    def page(self, prefix: str, *, is_flat: bool, token: str | None, limit: int | None = None) -> Page:
        """Return one page of up to 1,000 keys."""
        found = self._json(
            "GET",
            _OBJECTS,
            prefix=prefix,
            delimiter=None if is_flat else "/",
            pageToken=token,
            maxResults=limit or 1000,
            fields="items(name,size,updated,generation,md5Hash),prefixes,nextPageToken",
        )
        return Page(
            tuple(_stored(o) for o in found.get("items", ())),
            tuple(found.get("prefixes", ())),
            found.get("nextPageToken"),
        )

    def delete(self, keys: Sequence[str]) -> int:
        """Delete objects with one DELETE for each key, ``AT_ONCE`` at the same time."""
        return sum(self._run(_gather(self._delete_one, keys), REQUESTS * (1 + len(keys) // AT_ONCE)))

    async def _delete_one(self, key: str) -> int:
        try:
            await self.client._call("DELETE", _OBJECT, self.bucket, key)
        except FileNotFoundError:
            return 0
        return 1

    def copy(self, source: str, target: str) -> None:
        """Copy an object with rewrite requests, repeated until the store reports that the copy is complete."""
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
        """Create an empty object whose name ends with a slash."""
        self.put(f"{key}/", b"")

    def failure(self, error: BaseException) -> Failure:
        """Classify an error by its HTTP status; without a status, only a bad or never sent request is REFUSED."""
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

    def _run(self, request: Coroutine[Any, Any, Any], max_requests: int = REQUESTS) -> Any:
        return self.time_out.run(self.client.loop, lambda: request, max_requests)


@dataclass
class GcsUpload:
    """A resumable upload. The last part must be marked, so a part is sent only when the next part is known."""

    store: GcsStore
    location: str
    sent: int = 0
    held: bytes = field(default=b"", repr=False)

    def part(self, data: bytes) -> None:
        """Keep this part in memory and send the previous part."""
        if self.held:
            self._send(self.held, is_last=False)
        self.held = data

    def complete(self) -> None:
        """Send the last part, which makes the object visible."""
        self._send(self.held, is_last=True)

    def abort(self) -> None:
        """Cancel the upload; the store answers with status 499 ("cancelled")."""
        self.store._run(self.store.client._call("DELETE", self.location))

    def _send(self, data: bytes, *, is_last: bool) -> None:
        end = self.sent + len(data)
        headers = {"Content-Range": f"bytes {self.sent}-{end - 1}/{end if is_last else '*'}"}
        self.store._run(self.store.client._call("PUT", self.location, headers=headers, data=_body(data)))
        self.sent = end


def _body(data: bytes) -> Any:
    """Return the data as a file object, as aiohttp requires for large bodies; the object can be sent more than once."""
    return UnclosableBytesIO(data)


async def _gather(action: Any, keys: Sequence[str]) -> list[int]:
    semaphore = asyncio.Semaphore(AT_ONCE)

    async def one(key: str) -> int:
        async with semaphore:
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
        str(found.get("generation", "")),
        found.get("md5Hash", ""),
    )
