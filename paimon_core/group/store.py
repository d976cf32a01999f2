"""GroupStore: the records of one group, ``<warehouse>/group/<name>/intent-N`` and ``version-N``.

Each file is created exclusively and completely, and never changed. Java's catalogs ignore the directory, because its
name does not end in ``.db``.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from paimon_core.errors import CorruptTable, InvalidRequest, NotFound
from paimon_core.group.record import GroupVersion, Intent
from paimon_core.storage.exclusive_create import create_once
from paimon_core.storage.paths import group_path
from paimon_core.storage.storage import Storage

_Record = TypeVar("_Record")
_TRIES = 5
_NAME = re.compile(r"(intent|version)-([1-9]\d{0,18})")


@dataclass(frozen=True, slots=True)
class GroupStore:
    """Reads and creates the records of one group of a warehouse."""

    storage: Storage
    warehouse: str
    name: str

    @property
    def directory(self) -> str:
        """The directory of the records."""
        return group_path(self.warehouse, self.name)

    def numbers(self, kind: str) -> list[int]:
        """Return the numbers of the records of a kind, ``intent`` or ``version``, ascending; lists the directory."""
        found = (_NAME.fullmatch(entry.name) for entry in self.storage.list(self.directory))
        return sorted(int(match.group(2)) for match in found if match and match.group(1) == kind)

    def intent(self, number: int) -> Intent:
        """Read one intent; raises NotFound when it does not exist, CorruptTable when it does not decode."""
        return self._read("intent", number, Intent.from_bytes)

    def version(self, number: int) -> GroupVersion:
        """Read one version.

        Raises NotFound, which names the existing versions, when it does not exist, CorruptTable when it does not
        decode.
        """
        return self._read("version", number, GroupVersion.from_bytes)

    def versions(self) -> list[GroupVersion]:
        """Return all versions, oldest first, without those that another process deletes during the call."""
        found = []
        for number in self.numbers("version"):
            with contextlib.suppress(NotFound):
                found.append(self.version(number))
        return found

    def newest(self) -> GroupVersion | None:
        """Return the newest version; None before the first publish."""
        for left in reversed(range(_TRIES)):
            numbers = self.numbers("version")
            try:
                return self.version(numbers[-1]) if numbers else None
            except NotFound:  # another process created newer versions and deleted this one
                if not left:
                    raise
        raise AssertionError

    def intent_of(self, token: str) -> Intent | None:
        """Return the newest intent with a token; None when none is kept."""
        for number in reversed(self.numbers("intent")):
            with contextlib.suppress(NotFound):  # another process deletes it with its version
                if (intent := self.intent(number)).token == token:
                    return intent
        return None

    def create_intent(self, intent: Intent) -> bool:
        """Create an intent; return False when another intent has its number.

        Raises CommitStateUnknown when it is not known whether the intent was created.
        """
        return self._create(f"intent-{intent.number}", intent.to_bytes())

    def create_version(self, version: GroupVersion) -> bool:
        """Create a version, which makes it visible; return False when another process has already created it.

        Raises CommitStateUnknown when it is not known whether the version was created.
        """
        return self._create(f"version-{version.number}", version.to_bytes())

    def delete(self, number: int) -> None:
        """Delete a version, then its intent; missing files are no error."""
        self.storage.delete(f"{self.directory}/{kind}-{int(number)}" for kind in ("version", "intent"))

    def _create(self, name: str, data: bytes) -> bool:
        return create_once(self.storage, f"{self.directory}/{name}", data)

    def _read(self, kind: str, number: int, parse: Callable[[bytes], _Record]) -> _Record:
        path = f"{self.directory}/{kind}-{int(number)}"
        try:
            return parse(self.storage.read(path))
        except FileNotFoundError:
            known = self.numbers(kind)
            hint = f"it has {known[0]} to {known[-1]}" if known else "it has none"
            raise NotFound(f"group {self.name} has no {kind} {number}: {hint}", group=self.name, path=path) from None
        except InvalidRequest as error:
            raise CorruptTable(f"{path}: {error}", path=path) from error
