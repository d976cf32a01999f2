"""TableStore: opens the stores of a REST server's tables, with their options and credentials (format 14.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.rest.client import RestClient
from paimon_core.catalog.rest.token_storage import TemporaryStorage, TokenStorage
from paimon_core.errors import StorageError, UnsupportedFeature
from paimon_core.storage.open import OPTIONS, SCHEMES, open_storage
from paimon_core.storage.secret import Secret
from paimon_core.storage.storage import Storage


@dataclass(frozen=True)
class TableStore:
    """Options of stores. Options of the caller override options of the server; credentials of a table override both."""

    client: RestClient
    given: Mapping[str, str] = field(repr=False)
    server_options: tuple[tuple[str, Secret], ...]
    """The server's configuration; a store uses the values whose keys are options of the store."""
    uses_tokens: bool
    """Whether the credentials of each table are requested from the server."""

    def open(self, name: Identifier, url: str) -> tuple[Storage, str]:
        """Return the storage of the table ``name`` and its root; raises the errors of ``open_storage``."""
        storage, root = open_storage(url, self._options(url))
        if not self.uses_tokens or not _options_of(url):
            return storage, root
        return TokenStorage(TokenSource(self, name, url)), root

    def borrow(self, name: Identifier, url: str) -> TemporaryStorage:
        """Request the table's credentials from the server, and return a storage that uses these credentials.

        Raises UnsupportedFeature when the store supports none of the credentials.
        """
        answer = self.client.get("databases", name.database, "tables", name.table, "token")
        token, expires = answer.get("token"), answer.get("expiresAtMillis")
        if not isinstance(token, dict) or type(expires) is not int:
            raise StorageError(
                f"the answer of {self.client.uri} contains no credentials for table {name}", table=str(name)
            )
        usable = {key: str(value) for key, value in token.items() if key in _options_of(url)}
        if not usable:
            raise UnsupportedFeature(
                f"table {name}: the store supports none of the credentials that {self.client.uri} sends: "
                f"{', '.join(sorted(token))}",
                table=str(name),
            )
        return TemporaryStorage(open_storage(url, {**self._options(url), **usable})[0], expires)

    def _options(self, place: str) -> dict[str, str]:
        from_server = {key: value.reveal() for key, value in self.server_options if key in _options_of(place)}
        return {**from_server, **self.given}


@dataclass(frozen=True)
class TokenSource:
    """Requests the credentials of one table from the server; can be sent to other processes."""

    store: TableStore
    name: Identifier
    place: str

    def __call__(self) -> TemporaryStorage:
        """Return a storage with new credentials."""
        return self.store.borrow(self.name, self.place)


def _options_of(place: str) -> Mapping[str, bool]:
    """Return the options that the store of a URL has, by name; empty for the local disk."""
    kind = SCHEMES.get(place.partition(":")[0].lower())
    return OPTIONS[kind[0]] if kind else {}
