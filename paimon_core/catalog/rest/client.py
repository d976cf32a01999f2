"""RestClient: sends requests to a Paimon REST server, and returns the answers or raises errors (format 14.9).

A client can be pickled and sent to workers; its token is never shown. A request that changes something is sent only
once: when its answer is lost or the server fails, CommitStateUnknown is raised, because the request may have been
executed.
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

from paimon_core.codec.json_text import parse_json
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
    """Sends the token as a header.

    It also prevents the library ``requests`` from using credentials of a .netrc file.
    """

    def __init__(self, token: Secret | None) -> None:
        self.token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self.token is not None:
            request.headers["Authorization"] = f"Bearer {self.token.reveal()}"
        return request


@dataclass(frozen=True)
class RestClient:
    """The address of a server, with token, headers and time limit; paths of requests start with ``v1/<prefix>``."""

    uri: str
    token: Secret | None = None
    headers: tuple[tuple[str, Secret], ...] = field(default=(), repr=False)
    prefix: str | None = None
    timeout_millis: int = ANSWER_MILLIS
    """The milliseconds that a request waits for its answer."""
    sleep: Callable[[float], None] = field(default=time.sleep, compare=False, repr=False)

    @staticmethod
    def checked_uri(uri: str) -> str:
        """Return the address without a trailing slash.

        Raises InvalidRequest for an invalid address, which the message does not show: it may contain a password.
        """
        with contextlib.suppress(ValueError):
            parts = urlsplit(uri if isinstance(uri, str) else "")
            plain = not (parts.username or parts.password or parts.query or parts.fragment)
            if parts.scheme in ("http", "https") and parts.hostname and plain and parts.port != 0:
                return uri.rstrip("/")
        raise InvalidRequest("uri of a REST catalog must be http://host:port or https://host, without user or query")

    def get(self, *parts: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the server's description of a resource.

        While the server is busy or cannot be reached, the request is repeated, up to ``READ_TRIES`` tries in total.
        """
        pauses = [2.0**n for n in range(READ_TRIES - 1)]
        while True:
            try:
                return self._ask("GET", parts, query=query)
            except StorageError as error:
                if not pauses or not error.facts.get("again"):
                    raise
                pause = pauses.pop(0)
                self.sleep(min(float(error.facts.get("after", pause)), LONGEST_PAUSE))

    def pages(self, member: str, *parts: str) -> list[str]:
        """Return all names of a list, requested page by page; raises StorageError for an invalid answer."""
        items: list[str] = []
        seen: set[str] = set()
        query: dict[str, str] = {}
        while True:
            page = self.get(*parts, query=query)
            found, token = page.get(member) or [], page.get("nextPageToken") or ""
            if not isinstance(found, list) or not all(isinstance(one, str) for one in (*found, token)):
                raise StorageError(f"{self.uri}: the answer to a request for {member} is not a page of names")
            items.extend(found)
            if not token or not found or token in seen:
                return items
            seen.add(token)
            query = {"pageToken": token}

    def post(self, *parts: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request that changes something; raises CommitStateUnknown when it may have been executed."""
        return self._ask("POST", parts, body=body)

    def delete(self, *parts: str) -> None:
        """Send one request that deletes something; raises CommitStateUnknown as ``post`` does."""
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
        label = f"{method} {self.uri}/{path}"
        with self._sending(label, changes=method != "GET"):
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
            return self._parsed(answer, label, changes=method != "GET")
        raise self._error(answer, label, changes=method != "GET")

    @contextlib.contextmanager
    def _sending(self, label: str, *, changes: bool) -> Iterator[None]:
        try:
            yield
        except requests.RequestException as error:
            text = self._scrubbed(f"{label}: {type(error).__name__}")
            if isinstance(error, requests.exceptions.InvalidHeader | requests.exceptions.InvalidURL):
                raise InvalidRequest(f"{text}: a header or the address is invalid") from None
            if isinstance(error, requests.Timeout):
                text = f"{text}: no answer within {self.timeout_millis / 1000:g} s (option request-timeout)"
            if not changes or _was_never_sent(error):
                raise StorageError(f"{text}: the server cannot be reached", again=True) from None
            raise CommitStateUnknown(f"{text}: the answer was lost, the request may have been executed") from None

    def _parsed(self, answer: requests.Response, label: str, *, changes: bool) -> dict[str, Any]:
        if not answer.content:
            return {}
        try:
            value = parse_json(answer.content)
            if isinstance(value, dict):
                return value
        except ValueError:
            pass
        error = CommitStateUnknown if changes else StorageError
        raise error(self._scrubbed(f"{label}: the answer is not a JSON object"))

    def _error(self, answer: requests.Response, label: str, *, changes: bool) -> PaimonError:
        """Return the error for an answer; it contains the server's message without secrets."""
        try:
            members = parse_json(answer.content)
        except ValueError:
            members = {}
        members = members if isinstance(members, dict) else {}
        status = answer.status_code
        words = self._scrubbed(f"{label}: {status} {members.get('message') or 'without a message'}")
        facts = {"status": status, "resource": members.get("resourceType"), "name": members.get("resourceName")}
        match status:
            case 400:
                return InvalidRequest(words, **facts)
            case 401 | 403:
                return InvalidRequest(f"{words}: not permitted (option token)", **facts)
            case 404:
                return _MISSING.get(str(members.get("resourceType")), NotFound)(words, **facts)
            case 409:
                return AlreadyExists(words, **facts)
            case 501:
                return UnsupportedFeature(words, **facts)
            case 429:
                return StorageError(words, again=True, **_retry_after(answer), **facts)
            case _ if changes and status >= 500:
                return CommitStateUnknown(f"{words}: the request may have been executed", **facts)
            case _:
                return StorageError(words, again=status == 503, **_retry_after(answer), **facts)

    def _scrubbed(self, text: str) -> str:
        secrets = [value for _, value in self.headers] + ([self.token] if self.token else [])
        return scrubbed(re.sub(r"\s+", " ", text)[:600], secrets)


def _encoded(part: str) -> str:
    """Return a part of a path in the encoding that Java's servers decode: a space becomes a plus."""
    return quote_plus(part, safe="*")


def _was_never_sent(error: requests.RequestException) -> bool:
    """Whether no connection was established, so that the request was not sent."""
    cause = error.args[0] if error.args else None
    reason = cause.reason if isinstance(cause, MaxRetryError) else cause
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)


def _retry_after(answer: requests.Response) -> dict[str, float]:
    text = answer.headers.get("Retry-After", "")
    return {"after": float(text)} if re.fullmatch(r"\d{1,6}", text) else {}
