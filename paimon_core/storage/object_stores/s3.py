"""Amazon S3 and compatible stores: requests sent with the sessions, credentials and event loop of s3fs.

Requests of s3fs are repeated in three layers (s3fs, botocore, aiohttp). This is right for all requests except the
request that publishes a snapshot, which is sent exactly once, through a separate client.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
import s3fs
from aiobotocore.httpsession import AIOHTTPSession
from botocore.exceptions import BotoCoreError, ConnectTimeoutError, HTTPClientError, ReadTimeoutError

from paimon_core.storage.object_stores.object_store import Failure, Meaning, Page, StoredObject, Upload, meaning_of
from paimon_core.storage.object_stores.time_out import REQUESTS, STANDARD, RequestTimedOut, TimeOut

CONNECT_SECONDS = 5
CONNECTIONS = 64
"""The largest number of connections of a client: several threads send up to 16 requests at the same time."""
SENDS = REQUESTS
"""The maximum number of times that botocore sends a request that may be repeated."""
PART_BYTES = 16 * 1024 * 1024
_COPY_BYTES = 5 * 1024**3
_TOO_MANY = 429
_FIRST_PAUSE_SECONDS = 0.1
_Answer = TypeVar("_Answer")


class _SendOnce(AIOHTTPSession):  # type: ignore[misc]
    """A session that does not repeat a PUT after a broken connection: the repeated PUT could find its own file."""

    async def _get_session(self, proxy_url: str | None) -> Any:
        session = await super()._get_session(proxy_url)
        session._retry_connection = False
        return session


def open_store(bucket: str, options: Mapping[str, str]) -> S3Store:
    """Open the bucket with the operator's options.

    Options that are not given come from the environment, the profile or the instance role.
    """
    # The log messages of these packages at level DEBUG contain session tokens.
    for name in ("botocore", "aiobotocore", "s3fs"):
        if logging.getLogger(name).level == logging.NOTSET:
            logging.getLogger(name).setLevel(logging.INFO)
    time_out = TimeOut.of(options)
    client = _client(options, SENDS, time_out)
    client.connect()  # sends nothing; requests at the same time would each make a session
    return S3Store(bucket, client, _client(options, 1, time_out), time_out)


def _client(options: Mapping[str, str], sends: int, time_out: TimeOut) -> Any:
    config: dict[str, Any] = {
        "max_pool_connections": CONNECTIONS,
        "connect_timeout": min(CONNECT_SECONDS, time_out.seconds),
        "read_timeout": time_out.seconds,
        "retries": {"mode": "standard", "total_max_attempts": sends},
    }
    if options.get("s3.path.style.access") == "true":
        config["s3"] = {"addressing_style": "path"}
    if sends == 1:
        config["http_session_cls"] = _SendOnce
    client = s3fs.S3FileSystem(
        key=options.get("s3.access-key"),
        secret=options.get("s3.secret-key"),
        token=options.get("s3.session-token"),
        endpoint_url=options.get("s3.endpoint"),
        client_kwargs={"region_name": options["s3.region"]} if "s3.region" in options else None,
        config_kwargs=config,
        use_listings_cache=False,
        skip_instance_cache=True,
    )
    client.retries = 1
    return client


@dataclass(frozen=True)
class S3Store:
    """One bucket (``ObjectStore``); ``client`` repeats failed requests, ``once`` sends each request only once."""

    bucket: str
    client: Any
    once: Any
    time_out: TimeOut = STANDARD
    part_bytes: int = PART_BYTES
    page_keys: int = 1000
    """The number of keys in one page; 1000 is the most that the protocol allows."""

    def head(self, key: str) -> StoredObject:
        """Return the object's size and time, with one HEAD."""
        found = self._call("head_object", Key=key)
        return StoredObject(key, found["ContentLength"], _millis(found["LastModified"]))

    def read(self, key: str, start: int = 0, end: int | None = None, version: str = "") -> bytes:
        """Read a range with one GET; the answer also states its length. The version of an object is its ETag."""
        if end is not None and end <= start:
            return b""
        return self._read(key, f"bytes={start}-{'' if end is None else end - 1}", start, version)[0]

    def read_tail(self, key: str, count: int, version: str = "") -> tuple[bytes, int]:
        """Read the last bytes with one GET."""
        return self._read(key, f"bytes=-{count}", None, version)

    def _read(self, key: str, wanted: str, start: int | None, version: str) -> tuple[bytes, int]:
        condition = {"IfMatch": version} if version else {}
        try:
            return self._repeated(lambda: self._range(key, wanted, condition))
        except Exception as error:
            if _status(error) != 416:
                raise
        size = self.head(key).size  # the range contains no byte: the object is empty or too short
        if start:
            raise EOFError(f"{key} has {size} bytes, but bytes from {start} were requested")
        return b"", size

    async def _range(self, key: str, wanted: str, condition: Mapping[str, str]) -> tuple[bytes, int]:
        answer = await self.client._call_s3("get_object", Bucket=self.bucket, Key=key, Range=wanted, **condition)
        async with answer["Body"] as body:
            data = await body.read()
        if "ContentRange" not in answer:
            return data, len(data)
        span, _, size = answer["ContentRange"].removeprefix("bytes ").partition("/")
        first, _, last = span.partition("-")
        if len(data) != int(last) - int(first) + 1:
            raise EOFError(f"the answer contains {len(data)} bytes of range {span}")
        return data, int(size)

    def _repeated(self, read: Callable[[], Coroutine[Any, Any, _Answer]]) -> _Answer:
        """Return the result of ``read``, repeated after a truncated answer, which botocore does not repeat."""
        for _ in range(SENDS - 1):
            try:
                return self._run(read)
            except RequestTimedOut:
                raise
            except Exception as error:
                failed = self.failure(error)
                if failed.meaning is not Meaning.UNKNOWN or failed.status is not None:
                    raise
        return self._run(read)

    def put(self, key: str, data: bytes) -> None:
        """Create or replace an object with one PUT."""
        self._call("put_object", Key=key, Body=data)

    def put_new(self, key: str, data: bytes) -> None:
        """Create an object with one PUT with ``If-None-Match: *``."""
        self._run(lambda: self.once._call_s3("put_object", Bucket=self.bucket, Key=key, Body=data, IfNoneMatch="*"), 1)

    def upload(self, key: str) -> Upload:
        """Start a multipart upload."""
        return S3Upload(self, key, self._call("create_multipart_upload", Key=key)["UploadId"])

    def page(self, prefix: str, *, is_flat: bool, token: str | None, limit: int | None = None) -> Page:
        """Return one page, with one ListObjectsV2."""
        wanted: dict[str, Any] = {"Prefix": prefix, "MaxKeys": limit or self.page_keys}
        if not is_flat:
            wanted["Delimiter"] = "/"
        if token is not None:
            wanted["ContinuationToken"] = token
        found = self._call("list_objects_v2", **wanted)
        return Page(
            tuple(
                StoredObject(
                    o["Key"],
                    o["Size"],
                    _millis(o["LastModified"]),
                    o["Key"].endswith("/"),
                    *2 * [o.get("ETag", "")],
                )
                for o in found.get("Contents", ())
            ),
            tuple(p["Prefix"] for p in found.get("CommonPrefixes", ())),
            found.get("NextContinuationToken") if found.get("IsTruncated") else None,
        )

    def delete(self, keys: Sequence[str]) -> int:
        """Delete objects with one DeleteObjects, which does not report missing keys; a single key is checked first."""
        if len(keys) == 1:
            try:
                self.head(keys[0])
            except FileNotFoundError:
                return 0
            self._call("delete_object", Key=keys[0])
            return 1
        wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        failed = self._call("delete_objects", Delete=wanted).get("Errors", []) if keys else []
        if failed:
            first = failed[0]
            raise OSError(
                f"{len(failed)} of {len(keys)} were not deleted; the first is {first['Key']}: {first.get('Code')}"
            )
        return len(keys)

    def copy(self, source: str, target: str) -> None:
        """Copy an object within the store, in parts when it is larger than one copy request allows (5 GiB)."""
        size = self.head(source).size
        where = {"Bucket": self.bucket, "Key": source}
        if size <= _COPY_BYTES:
            self._call("copy_object", Key=target, CopySource=where)
            return
        upload = S3Upload(self, target, self._call("create_multipart_upload", Key=target)["UploadId"])
        try:
            for start in range(0, size, _COPY_BYTES):
                upload.part_of(where, start, min(start + _COPY_BYTES, size))
            upload.complete()
        except BaseException:
            upload.abort()
            raise

    def mark_directory(self, key: str) -> None:
        """Create an empty object whose name ends with a slash."""
        self.put(f"{key}/", b"")

    def failure(self, error: BaseException) -> Failure:
        """Classify an error by its HTTP status; without a status, only a request that was never sent is REFUSED."""
        status = _status(error)
        if status is not None:
            answer = getattr(error, "response", None) or getattr(error.__cause__, "response", None) or {}
            code = answer.get("Error", {}).get("Code", "")
            text = f"{code} ({status}) {answer.get('Error', {}).get('Message', error)}".strip()
            if code == "RequestTimeout":
                return Failure(Meaning.UNKNOWN, text, status)
            return Failure(meaning_of(status), text, status)
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, ReadTimeoutError | ConnectTimeoutError):
            text = f"{text} ({self.time_out.unanswered(1)})"
        if isinstance(error, FileNotFoundError):
            return Failure(Meaning.MISSING, text)
        inner = getattr(error, "kwargs", {}).get("error")
        if isinstance(inner, aiohttp.ClientConnectorError) or isinstance(error, ConnectTimeoutError):
            return Failure(Meaning.REFUSED, text)
        is_local_error = isinstance(error, BotoCoreError) and not isinstance(error, HTTPClientError)
        return Failure(Meaning.REFUSED if is_local_error and not inner else Meaning.UNKNOWN, text)

    def _call(self, method: str, **wanted: Any) -> dict[str, Any]:
        for attempt in range(SENDS - 1):
            try:
                return self._call_once(method, wanted)
            except Exception as error:
                if _status(error) != _TOO_MANY:  # botocore does not wait and retry after this status
                    raise
            time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
        return self._call_once(method, wanted)

    def _call_once(self, method: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
        # The duration of a copy depends on the size of the object, so a copy has no time limit.
        max_requests = None if "CopySource" in wanted else REQUESTS
        return self._run(lambda: self.client._call_s3(method, Bucket=self.bucket, **wanted), max_requests)

    def _run(self, request: Callable[[], Coroutine[Any, Any, _Answer]], max_requests: int | None = REQUESTS) -> _Answer:
        answer: _Answer = self.time_out.run(self.client.loop, request, max_requests)
        return answer


@dataclass(frozen=True)
class S3Upload:
    """A multipart upload; ``etags`` contains the ETags of the parts that were sent."""

    store: S3Store
    key: str
    upload_id: str
    etags: list[str] = field(default_factory=list)

    def part(self, data: bytes) -> None:
        """Send the next part; the request may be repeated."""
        answer = self.store._call("upload_part", Body=data, PartNumber=len(self.etags) + 1, **self._place)
        self.etags.append(answer["ETag"])

    def part_of(self, source: Mapping[str, str], start: int, end: int) -> None:
        """Copy a range of another object as the next part."""
        answer = self.store._call(
            "upload_part_copy",
            CopySource=source,
            CopySourceRange=f"bytes={start}-{end - 1}",
            PartNumber=len(self.etags) + 1,
            **self._place,
        )
        self.etags.append(answer["CopyPartResult"]["ETag"])

    def complete(self) -> None:
        """Create the object; when a repeated request finds no upload, check that the first request created it."""
        parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(self.etags, 1)]
        try:
            self.store._call("complete_multipart_upload", MultipartUpload={"Parts": parts}, **self._place)
        except FileNotFoundError:
            self.store.head(self.key)

    def abort(self) -> None:
        """Delete the parts that were sent."""
        self.store._call("abort_multipart_upload", **self._place)

    @property
    def _place(self) -> dict[str, Any]:
        return {"Key": self.key, "UploadId": self.upload_id}


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of the answer for which s3fs raised this exception; None without an answer."""
    for cause in (error, error.__cause__):
        answer = getattr(cause, "response", None)
        if isinstance(answer, dict):
            status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
            return int(status) if status else None
    return None


def _millis(moment: Any) -> int:
    return int(moment.timestamp() * 1000)
