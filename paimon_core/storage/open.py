"""open_storage: opens the Storage for a warehouse URL with the operator's options (docs/storage.md)."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping

from paimon_core.errors import InvalidOption, InvalidRequest, UnsupportedFeature
from paimon_core.storage.fsspec_storage import LOCAL, MEMORY, FsspecStorage
from paimon_core.storage.object_stores.connections import check_installed
from paimon_core.storage.object_stores.object_storage import ObjectStorage
from paimon_core.storage.object_stores.time_out import OPTION as TIME_OUT
from paimon_core.storage.object_stores.time_out import TimeOut
from paimon_core.storage.secret import Secret
from paimon_core.storage.storage import Storage

SCHEMES = {
    "s3": ("s3", "s3"),
    "s3a": ("s3", "s3"),
    "gs": ("gcs", "gs"),
    "abfs": ("azure", "abfs"),
    "abfss": ("azure", "abfs"),
    "az": ("azure", "abfs"),
}
"""For each scheme of a URL: the kind of its store, and the scheme that is used in paths."""

OPTIONS: Mapping[str, Mapping[str, bool]] = {
    "s3": {
        "s3.endpoint": False,
        "s3.access-key": True,
        "s3.secret-key": True,
        "s3.session-token": True,
        "s3.region": False,
        "s3.path.style.access": False,
        TIME_OUT: False,
    },
    "gcs": {
        "fs.gs.storage.root.url": False,
        "fs.gs.project.id": False,
        "fs.gs.auth.type": False,
        "fs.gs.auth.service.account.json.keyfile": False,
        TIME_OUT: False,
    },
    "azure": {
        "azure.endpoint": False,
        "azure.account-name": False,
        "azure.account-key": True,
        "azure.sas-token": True,
        "azure.tenant-id": False,
        "azure.client-id": False,
        "azure.client-secret": True,
        TIME_OUT: False,
    },
}
"""For each kind of store: its options, and for each option whether its value is a secret."""

CHOICES = {
    "s3.path.style.access": ("true", "false"),
    "fs.gs.auth.type": (
        "APPLICATION_DEFAULT",
        "COMPUTE_ENGINE",
        "SERVICE_ACCOUNT_JSON_KEYFILE",
        "UNAUTHENTICATED",
    ),
}
TOGETHER = (
    ("s3.access-key", "s3.secret-key"),
    ("azure.tenant-id", "azure.client-id", "azure.client-secret"),
)
"""Groups of options that must be given together."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*(?:::[A-Za-z0-9+.\-]+)*):/")
_AUTHORITY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]{0,254}(?:@[A-Za-z0-9][A-Za-z0-9.\-]{0,254})?")


def open_storage(url: str, options: Mapping[str, str] | None = None) -> tuple[Storage, str]:
    """Return the storage of a warehouse URL and the path of its root, without a trailing slash.

    Plain paths, ``file:///path`` and ``file:/path`` are on the local disk; a plain path may start with ``~`` or
    ``~user``, a home directory. ``memory://name`` is in the memory of this process; ``s3://``, ``gs://`` and
    ``abfs://`` are object stores. This function opens no connection. Raises UnsupportedFeature for any other scheme or
    when an optional package must be installed first, InvalidOption for an unknown option or a value that is not allowed
    (secrets are not shown), InvalidRequest for a URL that cannot be a warehouse.
    """
    if not url.strip() or "\0" in url:
        raise InvalidRequest(f"warehouse URL {url!r} must contain a path and no NUL character", url=url)
    if options is not None and not isinstance(options, Mapping):
        raise InvalidOption(f"storage options must map strings to strings, not be a {type(options).__name__}")
    found = _SCHEME.match(url)
    scheme = found.group(1).lower() if found else LOCAL
    rest = url[found.end() - 1 :] if found else url
    if scheme in SCHEMES:
        return _object_storage(scheme, url, rest, options or {})
    for option in options or {}:
        raise InvalidOption(f"storage option {option!r} is not supported for {scheme}", option=option)
    if scheme not in (LOCAL, MEMORY):
        known = ", ".join(f"{s}://" for s in ("file", "memory", *SCHEMES))
        raise UnsupportedFeature(
            f"scheme {scheme!r} is not supported; use a local path or one of {known}", scheme=scheme
        )
    if scheme == MEMORY:
        return FsspecStorage(MEMORY), posixpath.normpath("/" + rest.lstrip("/")).rstrip("/")
    if rest.startswith("//") and not rest.startswith("///"):
        raise InvalidRequest(f"{url!r} names a host, which is not supported; write file:///path", url=url)
    root = os.path.abspath(("/" + rest.lstrip("/")) if found else _expanded(rest))
    if root == "/":
        raise InvalidRequest("the root of the file system cannot be a warehouse", url=url)
    return FsspecStorage(LOCAL), root


def has_scheme(url: str) -> bool:
    """Whether the text begins with a scheme, such as ``file:/``."""
    return _SCHEME.match(url) is not None


def _expanded(path: str) -> str:
    """Replace ``~`` or ``~user`` at the start by the home directory; raises InvalidRequest if this directory does not
    exist.
    """
    expanded = os.path.expanduser(path)
    if expanded.startswith("~"):
        raise InvalidRequest(
            f"warehouse {path!r:.200}: {path.partition('/')[0]!r} has no home directory; write './{path}' for a "
            "directory of that name",
            url=path,
        )
    return expanded


def _object_storage(scheme: str, url: str, rest: str, options: Mapping[str, str]) -> tuple[Storage, str]:
    kind, written = SCHEMES[scheme]
    authority, _, path = rest.removeprefix("//").partition("/")
    parts = [part for part in path.split("/") if part]
    if not rest.startswith("//") or not _AUTHORITY.fullmatch(authority) or ("@" in authority and kind != "azure"):
        raise InvalidRequest(
            f"a {scheme} warehouse must be written {scheme}://bucket/path, without credentials", scheme=scheme
        )
    if any(part in (".", "..") or set(part) & set("?#\\") or not part.isprintable() for part in parts):
        raise InvalidRequest(
            f"{url!r}: the path must not contain '.', '..', '?', '#', '\\' or control characters", url=url
        )
    check_installed(kind)
    base = "/".join((f"{written}://{authority}", *parts))
    return ObjectStorage(kind, base, _checked(kind, options)), base


def _checked(kind: str, options: Mapping[str, str]) -> tuple[tuple[str, str | Secret], ...]:
    known = OPTIONS[kind]
    for name, value in options.items():
        if name not in known:
            raise InvalidOption(f"storage option {name!r} is not one of {', '.join(known)}", option=name)
        if not isinstance(value, str) or not value:
            raise InvalidOption(f"storage option {name!r} must be a string that is not empty", option=name)
        if value not in CHOICES.get(name, (value,)):
            raise InvalidOption(f"{name} = {value!r} must be one of {', '.join(CHOICES[name])}", option=name)
    TimeOut.of(options)
    for names in TOGETHER:
        missing = [name for name in names if name not in options]
        if 0 < len(missing) < len(names):
            raise InvalidOption(f"storage option {missing[0]!r} is missing: {', '.join(names)} must be given together")
    return tuple((name, Secret(options[name]) if known[name] else options[name]) for name in sorted(options))
