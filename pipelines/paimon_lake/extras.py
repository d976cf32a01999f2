"""Extras: find the extra of the distribution that must be installed when a package is missing."""

from __future__ import annotations

_LAKE = ("pyspark", "pandas", "pydantic", "yaml", "adbc_driver_manager", "adbc_driver_postgresql", "adbc_driver_sqlite")
_EXTRAS = {
    **dict.fromkeys(_LAKE, "lake"),
    "psycopg": "postgres",
    "confluent_kafka": "kafka",
    "dagster": "dagster",
    "dagster_webserver": "dagster",
}


def missing_extra(error: ModuleNotFoundError, extra: str = "") -> str | None:
    """Return a sentence that names the package and the extra to install; None for a module that belongs to no extra.

    The sentence names ``extra`` if it is given, otherwise the smallest extra that has the package.
    """
    package = (error.name or "").partition(".")[0]
    if package not in _EXTRAS:
        return None
    return f"the package {package} is not installed: pip install 'paimon-core[{extra or _EXTRAS[package]}]'"
