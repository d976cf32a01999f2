"""Azure Blob Storage (and Data Lake Storage): requests sent with the service client and event loop of adlfs.

Azure's client repeats failed requests, except the request that publishes a snapshot. Directories that other tools
create are empty blobs with the metadata ``hdi_isfolder``.
"""

from __future__ import annotations

import asyncio
import uuid
from base64 import b64encode
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import adlfs
import aiohttp
from azure.core import MatchConditions
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError, ResourceNotFoundError
from azure.storage.blob import BlobBlock

from paimon_core.errors import InvalidOption
from paimon_core.storage.object_stores.object_store import Failure, Meaning, Page, StoredObject, Upload, meaning_of
from paimon_core.storage.object_stores.time_out import REQUESTS, STANDARD, TimeOut

PART_BYTES = 16 * 1024 * 1024
AT_ONCE = 32
CONNECT_SECONDS = 20
COPY_POLL_SECONDS = 0.2
_FOLDER = "hdi_isfolder"
_BLOB_EXISTS = "BlobAlreadyExists"


def open_store(bucket: str, options: Mapping[str, str]) -> AzureStore:
    """Open a container, given as ``container`` or ``container@account.host``, with the operator's options.

    Options that are not given come from the environment (AZURE_STORAGE_…) or from the machine's default credential.
    """
    container, _, host = bucket.partition("@")
    account = options.get("azure.account-name") or host.partition(".")[0] or None
    endpoint = options.get("azure.endpoint")
    time_out = TimeOut.of(options)
    common: dict[str, Any] = {
        "use_listings_cache": False,
        "skip_instance_cache": True,
        "connection_timeout": min(CONNECT_SECONDS, time_out.whole_seconds),
        "read_timeout": time_out.whole_seconds,
    }
    if endpoint:
        client = adlfs.AzureBlobFileSystem(connection_string=_connection(endpoint, options), **common)
        return AzureStore(container, client, time_out)
    client = adlfs.AzureBlobFileSystem(
        account_name=account,
        account_key=options.get("azure.account-key"),
        sas_token=options.get("azure.sas-token"),
        tenant_id=options.get("azure.tenant-id"),
        client_id=options.get("azure.client-id"),
        client_secret=options.get("azure.client-secret"),
        **common,
    )
    return AzureStore(container, client, time_out)


def _connection(endpoint: str, options: Mapping[str, str]) -> str:
    parts = {"BlobEndpoint": endpoint}
    if "azure.sas-token" in options:
        parts["SharedAccessSignature"] = options["azure.sas-token"].removeprefix("?")
    elif "azure.account-name" in options and "azure.account-key" in options:
        parts |= {"AccountName": options["azure.account-name"], "AccountKey": options["azure.account-key"]}
    else:
        raise InvalidOption("azure.endpoint needs azure.account-name and azure.account-key, or azure.sas-token")
    return ";".join(f"{name}={value}" for name, value in parts.items())


@dataclass(frozen=True)
class AzureStore:
    """One container; ``ObjectStore`` describes the methods."""

    container: str
    client: Any
    time_out: TimeOut = STANDARD
    part_bytes: int = PART_BYTES

    def head(self, key: str) -> StoredObject:
        """Return the blob's size and time, with one request."""
        return _stored(self._run(lambda: self._blob(key).get_blob_properties()))

    def read(self, key: str, start: int = 0, end: int | None = None, version: str = "") -> bytes:
        """Read a range or the whole blob; a large range takes several requests. The version of a blob is its ETag."""
        if end is not None and end <= start:
            return b""
        data: bytes = self._run(lambda: self._read(key, start, None if end is None else end - start, version))
        if end is not None and len(data) != end - start:
            raise EOFError(f"the answer contains {len(data)} bytes of range {start}-{end - 1}")
        return data

    def read_tail(self, key: str, count: int, version: str = "") -> tuple[bytes, int]:
        """Read the last bytes with two requests: one for the size, one for the bytes."""
        size = self.head(key).size
        return self.read(key, max(0, size - count), size, version), size

    async def _read(self, key: str, start: int, count: int | None, version: str) -> bytes:
        offset = None if count is None and not start else start
        match = {"etag": version, "match_condition": MatchConditions.IfNotModified} if version else {}
        stream = await self._blob(key).download_blob(offset=offset, length=count, **match)
        return bytes(await stream.readall())

    def put(self, key: str, data: bytes) -> None:
        """Create or replace a blob with one upload."""
        self._run(lambda: self._blob(key).upload_blob(data, overwrite=True))

    def put_new(self, key: str, data: bytes) -> None:
        """Create a blob with one upload with ``If-None-Match: *``; neither Azure's client nor aiohttp repeats it."""
        self._run(lambda: self._put_new(key, data), 1)

    async def _put_new(self, key: str, data: bytes) -> None:
        transport = self.client.service_client._pipeline._transport
        await transport.open()
        transport.session._retry_connection = False
        await self._blob(key).upload_blob(data, overwrite=False, retry_total=0, max_concurrency=1)

    def upload(self, key: str) -> Upload:
        """Start an upload in blocks; the blob becomes visible when the list of its blocks is committed."""
        return AzureUpload(self, key)

    def page(self, prefix: str, *, is_flat: bool, token: str | None, limit: int | None = None) -> Page:
        """Return one page of up to 5,000 names."""
        found: Page = self._run(lambda: self._page(prefix, is_flat, token, limit))
        return found

    async def _page(self, prefix: str, is_flat: bool, token: str | None, limit: int | None) -> Page:
        container = self.client.service_client.get_container_client(self.container)
        wanted = {"name_starts_with": prefix, "include": ["metadata"], "results_per_page": limit}
        listing = container.list_blobs(**wanted) if is_flat else container.walk_blobs(delimiter="/", **wanted)
        pages = listing.by_page(continuation_token=token)
        objects, prefixes = [], []
        async for page in pages:
            async for found in page:
                if hasattr(found, "size"):
                    objects.append(_stored(found))
                else:
                    prefixes.append(found.name)
            break
        return Page(tuple(objects), tuple(prefixes), pages.continuation_token or None)

    def delete(self, keys: Sequence[str]) -> int:
        """Delete blobs with one request for each key, ``AT_ONCE`` at the same time."""

        async def delete_one(key: str) -> int:
            try:
                await self._blob(key).delete_blob(delete_snapshots="include")
            except ResourceNotFoundError:
                return 0
            return 1

        async def delete_all() -> int:
            semaphore = asyncio.Semaphore(AT_ONCE)

            async def limited(key: str) -> int:
                async with semaphore:
                    return await delete_one(key)

            return sum(await asyncio.gather(*map(limited, keys)))

        return int(self._run(delete_all, REQUESTS * (1 + len(keys) // AT_ONCE)))

    def copy(self, source: str, target: str) -> None:
        """Copy a blob within the account and wait until the copy is complete."""
        self._run(lambda: self._copy(source, target), None)

    async def _copy(self, source: str, target: str) -> None:
        new = self._blob(target)
        copy = await new.start_copy_from_url(self._blob(source).url)
        status = copy["copy_status"]
        while status == "pending":
            await asyncio.sleep(COPY_POLL_SECONDS)
            status = (await new.get_blob_properties()).copy.status
        if status != "success":
            raise OSError(f"the copy ended with status {status!r}")

    def mark_directory(self, key: str) -> None:
        """Create an empty blob that is marked as a directory."""
        self._run(lambda: self._blob(key).upload_blob(b"", overwrite=True, metadata={_FOLDER: "true"}))

    def failure(self, error: BaseException) -> Failure:
        """Classify an error by its HTTP status; without a status, only a request that was never sent is REFUSED."""
        text = f"{type(error).__name__}: {error}".split("\n", 1)[0]
        if isinstance(error, FileNotFoundError):
            return Failure(Meaning.MISSING, text, 404)
        status = error.status_code if isinstance(error, HttpResponseError) else None
        code = getattr(error, "error_code", None)
        if code is not None:
            text = f"{getattr(code, 'value', code)!s} ({status})"
        if _BLOB_EXISTS in text:
            return Failure(Meaning.EXISTS, text, status)
        if status is not None:
            return Failure(meaning_of(status), text, status)
        inner = error.inner_exception if isinstance(error, AzureError) else None
        is_unsent = isinstance(inner, aiohttp.ClientConnectorError) or isinstance(error, ClientAuthenticationError)
        return Failure(Meaning.REFUSED if is_unsent else Meaning.UNKNOWN, text)

    def _blob(self, key: str) -> Any:
        return self.client.service_client.get_blob_client(self.container, key)

    def _run(self, request: Callable[[], Coroutine[Any, Any, Any]], max_requests: int | None = REQUESTS) -> Any:
        return self.time_out.run(self.client.loop, request, max_requests)


@dataclass(frozen=True)
class AzureUpload:
    """The blocks of a new blob; Azure deletes blocks that are never committed."""

    store: AzureStore
    key: str
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    blocks: list[str] = field(default_factory=list)

    def part(self, data: bytes) -> None:
        """Send the next part as a block."""
        block = b64encode(f"{self.token}-{len(self.blocks):06d}".encode()).decode()
        self.store._run(lambda: self.store._blob(self.key).stage_block(block, data))
        self.blocks.append(block)

    def complete(self) -> None:
        """Create the blob from its blocks."""
        blocks = [BlobBlock(block_id=block) for block in self.blocks]
        self.store._run(lambda: self.store._blob(self.key).commit_block_list(blocks))

    def abort(self) -> None:
        """Do nothing: blocks that are not committed are not visible."""


def _is_folder(found: Any) -> bool:
    return str((found.metadata or {}).get(_FOLDER, "")).lower() == "true"


def _stored(found: Any) -> StoredObject:
    millis = int(found.last_modified.timestamp() * 1000) if found.last_modified else 0
    etag = str(found.etag or "")
    version = etag if etag.startswith('"') or not etag else f'"{etag}"'  # listings return the ETag without quotes
    md5 = found.content_settings.content_md5
    checksum = bytes(md5).hex() if md5 else ""
    is_directory = _is_folder(found) or found.name.endswith("/")
    return StoredObject(found.name, found.size or 0, millis, is_directory, version, checksum)
