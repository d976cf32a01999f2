"""RestClient: one request to a Paimon REST server and its answer, or the error that says what to do next (format 14.9).

The value travels to workers; the token shows nowhere. A request that changes something is sent once: when its answer
is lost, or the server fails, it may have been done, and that is CommitStateUnknown.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlsplit

import requests
from requests.auth import AuthBase
from urllib3.exceptions import MaxRetryError, NewConnectionError

from paimon_core.errors import (
    AlreadyExists,
    BranchNotFound,
    CommitStateUnknown,
    DatabaseNotFound,
    InvalidRequest,
    NotFound,
    PaimonError,
    SnapshotNotFound,
    StorageError,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_core.storage.secret import Secret, scrubbed

CONNECT_SECONDS = 30
ANSWER_MILLIS = 180_000
READ_TRIES = 5
LONGEST_PAUSE = 60.0
_MISSING: Mapping[str, type[PaimonError]] = {
    "DATABASE": DatabaseNotFound,
    "TABLE": TableNotFound,
    "SNAPSHOT": SnapshotNotFound,
    "BRANCH": BranchNotFound,
}


class _Bearer(AuthBase):
    """The token as a header; also keeps a .netrc file from putting another in its place."""

    def __init__(self, token: Secret | None) -> None:
        self.token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self.token is not None:
            request.headers["Authorization"] = f"Bearer {self.token.reveal()}"
        return request


@dataclass(frozen=True)
class RestClient:
    """A server by its address, and how to speak to it; ``prefix`` is the first part of its paths."""

    uri: str
    token: Secret | None = None
    headers: tuple[tuple[str, Secret], ...] = field(default=(), repr=False)
    prefix: str | None = None
    timeout_millis: int = ANSWER_MILLIS
    """How long a request waits for its answer."""
    sleep: Callable[[float], None] = field(default=time.sleep, compare=False, repr=False)

    @staticmethod
    def checked_uri(uri: str) -> str:
        """The address without a trailing slash; raises InvalidRequest, which never shows it, for what is none."""
        with contextlib.suppress(ValueError):
            parts = urlsplit(uri if isinstance(uri, str) else "")
            plain = not (parts.username or parts.password or parts.query or parts.fragment)
            if parts.scheme in ("http", "https") and parts.hostname and plain and parts.port != 0:
                return uri.rstrip("/")
        raise InvalidRequest("uri of a REST catalog must be http://host:port or https://host, without user or query")

    def get(self, *parts: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """What the server tells of a resource; tried again while the server is busy or out of reach."""
        pauses = [2.0**n for n in range(READ_TRIES - 1)]
        while True:
            try:
                return self._ask("GET", parts, query=query)
            except StorageError as error:
                if not pauses or not error.facts.get("again"):
                    raise
                pause = pauses.pop(0)
                self.sleep(min(float(error.facts.get("after", pause)), LONGEST_PAUSE))

    def pages(self, member: str, *parts: str) -> list[Any]:
        """All items of a list that comes in pages."""
        items: list[Any] = []
        seen: set[str] = set()
        query: dict[str, str] = {}
        while True:
            page = self.get(*parts, query=query)
            found = page.get(member) or []
            items.extend(found)
            token = page.get("nextPageToken")
            if not token or not found or token in seen:
                return items
            seen.add(token)
            query = {"pageToken": token}

    def post(self, *parts: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change something, once; raises CommitStateUnknown when it may have been done all the same."""
        return self._ask("POST", parts, body=body)

    def delete(self, *parts: str) -> None:
        """Remove something, once; raises CommitStateUnknown when it may have been done all the same."""
        self._ask("DELETE", parts)

    def _ask(
        self,
        method: str,
        parts: Sequence[str],
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        path = "/".join(_encoded(p) for p in ("v1", *([self.prefix] if self.prefix else []), *parts))
        what = f"{method} {self.uri}/{path}"
        with self._sending(what, changes=method != "GET"):
            answer = requests.request(
                method,
                f"{self.uri}/{path}",
                params=query,
                json=body,
                headers={name: value.reveal() for name, value in self.headers},
                auth=_Bearer(self.token),
                timeout=(min(CONNECT_SECONDS, self.timeout_millis / 1000), self.timeout_millis / 1000),
                allow_redirects=False,
            )
        if answer.status_code in (200, 202, 204):
            return self._parsed(answer, what, changes=method != "GET")
        raise self._error(answer, what, changes=method != "GET")

    @contextlib.contextmanager
    def _sending(self, what: str, *, changes: bool) -> Iterator[None]:
        try:
            yield
        except requests.RequestException as error:
            text = self._scrubbed(f"{what}: {type(error).__name__}")
            if isinstance(error, requests.exceptions.InvalidHeader | requests.exceptions.InvalidURL):
                raise InvalidRequest(f"{text}: a header or the address is not valid") from None
            if isinstance(error, requests.Timeout):
                text = f"{text}: no answer within {self.timeout_millis / 1000:g} s (option request-timeout)"
            if not changes or _was_never_sent(error):
                raise StorageError(f"{text}: the server cannot be reached", again=True) from None
            raise CommitStateUnknown(f"{text}: the answer was lost, it may have been done") from None

    def _parsed(self, answer: requests.Response, what: str, *, changes: bool) -> dict[str, Any]:
        if not answer.content:
            return {}
        try:
            value = answer.json()
            if isinstance(value, dict):
                return value
        except ValueError:
            pass
        error = CommitStateUnknown if changes else StorageError
        raise error(self._scrubbed(f"{what}: the answer is no JSON object"))

    def _error(self, answer: requests.Response, what: str, *, changes: bool) -> PaimonError:
        """The error that an answer means, with the server's own words but for what may be secret in them."""
        try:
            told = answer.json()
        except ValueError:
            told = {}
        told = told if isinstance(told, dict) else {}
        status = answer.status_code
        words = self._scrubbed(f"{what}: {status} {told.get('message') or 'without a message'}")
        facts = {"status": status, "resource": told.get("resourceType"), "name": told.get("resourceName")}
        match status:
            case 400:
                return InvalidRequest(words, **facts)
            case 401 | 403:
                return InvalidRequest(f"{words}: not permitted (option token)", **facts)
            case 404:
                return _MISSING.get(str(told.get("resourceType")), NotFound)(words, **facts)
            case 409:
                return AlreadyExists(words, **facts)
            case 501:
                return UnsupportedFeature(words, **facts)
            case 429:
                return StorageError(words, again=True, **_after(answer), **facts)
            case _ if changes and status >= 500:
                return CommitStateUnknown(f"{words}: it may have been done", **facts)
            case _:
                return StorageError(words, again=status == 503, **_after(answer), **facts)

    def _scrubbed(self, text: str) -> str:
        secrets = [value for _, value in self.headers] + ([self.token] if self.token else [])
        return scrubbed(re.sub(r"\s+", " ", text)[:600], secrets)


def _encoded(part: str) -> str:
    """A part of a path as Java's servers decode it: a space is a plus."""
    return quote_plus(part, safe="*")


def _was_never_sent(error: requests.RequestException) -> bool:
    """Whether not even a connection was made."""
    cause = error.args[0] if error.args else None
    reason = cause.reason if isinstance(cause, MaxRetryError) else cause
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)


def _after(answer: requests.Response) -> dict[str, float]:
    text = answer.headers.get("Retry-After", "")
    return {"after": float(text)} if re.fullmatch(r"\d{1,6}", text) else {}
