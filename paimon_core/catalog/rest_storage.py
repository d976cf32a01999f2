"""TableStore: how the files of a REST server's tables are reached, with whose options and credentials (format 14.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.rest_client import RestClient
from paimon_core.catalog.token_storage import Loan, TokenStorage
from paimon_core.errors import StorageError, UnsupportedFeature
from paimon_core.storage.open import OPTIONS, SCHEMES, open_storage
from paimon_core.storage.secret import Secret
from paimon_core.storage.storage import Storage


@dataclass(frozen=True)
class TableStore:
    """Options of stores: the caller's own go before the server's, and a table's credentials before both."""

    client: RestClient
    given: Mapping[str, str] = field(repr=False)
    told: tuple[tuple[str, Secret], ...]
    """What the server's configuration says, of which a store takes the options that it has."""
    lends: bool
    """Whether the server is asked for the credentials of each table."""

    def open(self, name: Identifier, place: str) -> tuple[Storage, str]:
        """The storage of the table ``name`` and its root; raises what ``open_storage`` raises."""
        storage, root = open_storage(place, self._options(place))
        if not self.lends or not _options_of(place):
            return storage, root
        return TokenStorage(Borrower(self, name, place)), root

    def borrow(self, name: Identifier, place: str) -> Loan:
        """Ask the server for the table's credentials; raises UnsupportedFeature when the store takes none of them."""
        answer = self.client.get("databases", name.database, "tables", name.table, "token")
        token, expires = answer.get("token"), answer.get("expiresAtMillis")
        if not isinstance(token, dict) or type(expires) is not int:
            raise StorageError(f"{self.client.uri} answers no credentials for table {name}", table=str(name))
        lent = {key: str(value) for key, value in token.items() if key in _options_of(place)}
        if not lent:
            raise UnsupportedFeature(
                f"table {name}: of the credentials that {self.client.uri} lends ({', '.join(sorted(token))}) the store "
                "takes none",
                table=str(name),
            )
        return Loan(open_storage(place, {**self._options(place), **lent})[0], expires)

    def _options(self, place: str) -> dict[str, str]:
        told = {key: value.reveal() for key, value in self.told if key in _options_of(place)}
        return {**told, **self.given}


@dataclass(frozen=True)
class Borrower:
    """Asks again for the credentials of one table, in whatever process."""

    store: TableStore
    name: Identifier
    place: str

    def __call__(self) -> Loan:
        """A storage with fresh credentials."""
        return self.store.borrow(self.name, self.place)


def _options_of(place: str) -> Mapping[str, bool]:
    """The options that the store of a place has; none for the local disk."""
    kind = SCHEMES.get(place.partition(":")[0].lower())
    return OPTIONS[kind[0]] if kind else {}
