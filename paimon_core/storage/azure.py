"""Azure Blob Storage (and Data Lake Storage) through adlfs, whose service client and event loop are used.

Azure's client repeats failed requests, except the publish of a snapshot. Directories that other tools made are empty
blobs with the metadata ``hdi_isfolder``.
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
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError, ResourceNotFoundError
from azure.storage.blob import BlobBlock

from paimon_core.errors import InvalidOption
from paimon_core.storage.object_store import Failure, Meaning, Page, StoredObject, Upload, meaning_of
from paimon_core.storage.time_out import REQUESTS, STANDARD, TimeOut

PART_BYTES = 16 * 1024 * 1024
AT_ONCE = 32
CONNECT_SECONDS = 20
COPY_POLL_SECONDS = 0.2
_FOLDER = "hdi_isfolder"
_TAKEN = "BlobAlreadyExists"


def open_store(bucket: str, options: Mapping[str, str]) -> AzureStore:
    """The container (``container`` or ``container@account.host``) with the operator's options.

    What is not given comes from the environment (AZURE_STORAGE_…) or the machine's default credential.
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
    """One container."""

    container: str
    client: Any
    time_out: TimeOut = STANDARD
    part_bytes: int = PART_BYTES

    def head(self, key: str) -> StoredObject:
        """One request for the blob's properties."""
        return _stored(self._run(lambda: self._blob(key).get_blob_properties()))

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        """A download of a range, large ones in several requests."""
        if end is not None and end <= start:
            return b""
        data: bytes = self._run(lambda: self._read(key, start, None if end is None else end - start))
        if end is not None and len(data) != end - start:
            raise EOFError(f"{len(data)} bytes came of {start}-{end - 1}")
        return data

    def read_tail(self, key: str, count: int) -> tuple[bytes, int]:
        """Two requests: the size, then the bytes."""
        size = self.head(key).size
        return self.read(key, max(0, size - count), size), size

    async def _read(self, key: str, start: int, count: int | None) -> bytes:
        offset = None if count is None and not start else start
        stream = await self._blob(key).download_blob(offset=offset, length=count)
        return bytes(await stream.readall())

    def put(self, key: str, data: bytes) -> None:
        """One upload."""
        self._run(lambda: self._blob(key).upload_blob(data, overwrite=True))

    def put_new(self, key: str, data: bytes) -> None:
        """One upload with ``If-None-Match: *``, which neither Azure's client nor aiohttp repeats."""
        self._run(lambda: self._put_new(key, data), 1)

    async def _put_new(self, key: str, data: bytes) -> None:
        transport = self.client.service_client._pipeline._transport
        await transport.open()
        transport.session._retry_connection = False
        await self._blob(key).upload_blob(data, overwrite=False, retry_total=0, max_concurrency=1)

    def upload(self, key: str) -> Upload:
        """A block blob, whose blocks nobody sees before their list is committed."""
        return AzureUpload(self, key)

    def page(self, prefix: str, *, is_flat: bool, token: str | None, limit: int | None = None) -> Page:
        """One listing of up to 5,000 names."""
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
        """One request a key, many at once."""

        async def one(key: str) -> int:
            try:
                await self._blob(key).delete_blob(delete_snapshots="include")
            except ResourceNotFoundError:
                return 0
            return 1

        async def all_of_them() -> int:
            room = asyncio.Semaphore(AT_ONCE)

            async def in_turn(key: str) -> int:
                async with room:
                    return await one(key)

            return sum(await asyncio.gather(*map(in_turn, keys)))

        return int(self._run(all_of_them, REQUESTS * (1 + len(keys) // AT_ONCE)))

    def copy(self, source: str, target: str) -> None:
        """A copy within the account, waited for."""
        self._run(lambda: self._copy(source, target), None)

    async def _copy(self, source: str, target: str) -> None:
        new = self._blob(target)
        copy = await new.start_copy_from_url(self._blob(source).url)
        status = copy["copy_status"]
        while status == "pending":
            await asyncio.sleep(COPY_POLL_SECONDS)
            status = (await new.get_blob_properties()).copy.status
        if status != "success":
            raise OSError(f"the copy ended as {status}")

    def mark_directory(self, key: str) -> None:
        """An empty blob that is marked as a directory."""
        self._run(lambda: self._blob(key).upload_blob(b"", overwrite=True, metadata={_FOLDER: "true"}))

    def failure(self, error: BaseException) -> Failure:
        """By HTTP status; without one, only a connection that was never made is sure to have done nothing."""
        text = f"{type(error).__name__}: {error}".split("\n", 1)[0]
        if isinstance(error, FileNotFoundError):
            return Failure(Meaning.MISSING, text, 404)
        status = error.status_code if isinstance(error, HttpResponseError) else None
        code = getattr(error, "error_code", None)
        if code is not None:
            text = f"{getattr(code, 'value', code)!s} ({status})"
        if _TAKEN in text:
            return Failure(Meaning.EXISTS, text, status)
        if status is not None:
            return Failure(meaning_of(status), text, status)
        inner = error.inner_exception if isinstance(error, AzureError) else None
        is_unsent = isinstance(inner, aiohttp.ClientConnectorError) or isinstance(error, ClientAuthenticationError)
        return Failure(Meaning.REFUSED if is_unsent else Meaning.UNKNOWN, text)

    def _blob(self, key: str) -> Any:
        return self.client.service_client.get_blob_client(self.container, key)

    def _run(self, request: Callable[[], Coroutine[Any, Any, Any]], most: int | None = REQUESTS) -> Any:
        return self.time_out.run(self.client.loop, request, most)


@dataclass(frozen=True)
class AzureUpload:
    """The blocks of a blob to be; blocks that are never committed go away by themselves."""

    store: AzureStore
    key: str
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    blocks: list[str] = field(default_factory=list)

    def part(self, data: bytes) -> None:
        """Send a block."""
        block = b64encode(f"{self.token}-{len(self.blocks):06d}".encode()).decode()
        self.store._run(lambda: self.store._blob(self.key).stage_block(block, data))
        self.blocks.append(block)

    def complete(self) -> None:
        """Make the blob of the blocks."""
        blocks = [BlobBlock(block_id=block) for block in self.blocks]
        self.store._run(lambda: self.store._blob(self.key).commit_block_list(blocks))

    def abort(self) -> None:
        """Nothing to do: nobody sees the blocks."""


def _is_folder(found: Any) -> bool:
    return str((found.metadata or {}).get(_FOLDER, "")).lower() == "true"


def _stored(found: Any) -> StoredObject:
    millis = int(found.last_modified.timestamp() * 1000) if found.last_modified else 0
    return StoredObject(found.name, found.size or 0, millis, _is_folder(found) or found.name.endswith("/"))
