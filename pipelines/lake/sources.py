"""Sources: where the rows of a table come from. ``type`` selects the kind; each kind has its own keys.

Kafka and formats of change data are not supported yet; their types are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from pipelines.lake.model import Model, Names, SomeNames, Texts

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_VARIABLE = re.compile(r"\$\{\w+(?::-)?\}")
_PASSWORD = re.compile(r"://[^/@\s]*:(?!\d+(?:[/?]|$))\S+@|[?&](?:ssl)?password=[^&\s]")


class FilesSource(Model):
    """Files of a directory or an object store; every file is loaded exactly once."""

    type: Literal["files"]
    """Files of a directory or an object store."""
    path: Annotated[str, Field(min_length=1)]
    """A path or URL. ``*`` stands for any name; ``{date}`` and ``{month}`` for the partition; a relative path starts
    at the folder of the declarations."""
    format: Literal["csv", "json", "jsonl", "parquet", "orc", "avro"] | None = None
    """The format of the files; default: the ending of ``path``."""
    options: dict[str, Any] = Field(default={})
    """Options of the format, such as ``delimiter`` and ``null_value`` of csv."""
    rename: Texts = Field(default={})
    """Column of the file to column of the table."""
    add: Mapping[str, Literal["partition", "file"]] = Field(default={})
    """Columns that the files do not have: column to ``partition`` (the partition key) or ``file`` (the path)."""
    late: Literal["load", "tell"] = "load"
    """What is done with a new file in a partition that was loaded before."""
    changed: Literal["tell", "load", "fail"] = "tell"
    """What is done with a file that changed after it was loaded."""


class SqlSource(Model):
    """A SELECT of Spark SQL over tables of the lake, which it names as ``database.table``."""

    type: Literal["sql"]
    """A SELECT over tables of the lake."""
    query: str = ""
    """The text of the query."""
    file: str = ""
    """A file with the query, relative to the folder of the declarations."""
    inputs: SomeNames
    """The tables of the lake that the query reads."""
    read: Literal["partition", "whole", "changes"] | None = None
    """What the query sees of its inputs: the rows of the partitions of the run, all rows, or the rows that changed
    since the last commit of this table. Default: ``partition`` for a table with partitions, otherwise ``whole``."""

    @model_validator(mode="after")
    def _one_query(self) -> SqlSource:
        if bool(self.query.strip()) == bool(self.file):
            raise ValueError("a sql source needs either query or file")
        return self


def _function(value: str) -> str:
    if not _FUNCTION.fullmatch(value):
        raise ValueError(f"must be module:function, not {value!r:.80}")
    return value


class PythonSource(Model):
    """A function of the user: ``function(spark, step) -> DataFrame``."""

    type: Literal["python"]
    """A function that returns the rows."""
    function: Annotated[str, AfterValidator(_function)]
    """``module:function``; the folder of the declarations is searched first."""
    inputs: Names = ()
    """The tables of the lake that the function reads."""


def _url(value: str) -> str:
    scheme = value.split("://", 1)[0]
    if "://" not in value or scheme not in ("postgresql", "sqlite"):  # the value may contain a password
        raise ValueError("must be postgresql://... or sqlite:///path")
    return value


class DatabaseSource(Model):
    """A query to a PostgreSQL or SQLite database."""

    type: Literal["database"]
    """A query to a PostgreSQL or SQLite database."""
    url: Annotated[str, AfterValidator(_url), Field(repr=False)]
    """``postgresql://user:${PASSWORD}@host/database`` or ``sqlite:///path``."""
    table: str = ""
    """The table of the database, with all of its rows."""
    query: str = ""
    """A SELECT in the language of the database, instead of ``table``."""
    watermark: str = ""
    """A column that only grows: a load reads the rows above the greatest value that was loaded."""
    split: str = ""
    """A column of whole numbers; its range is read in ``parts`` parallel parts."""
    parts: Annotated[int, Field(ge=1, le=1000)] = 4
    """The number of parts that are read in parallel; needs ``split``."""

    @model_validator(mode="after")
    def _one_query(self) -> DatabaseSource:
        if bool(self.query.strip()) == bool(self.table):
            raise ValueError("a database source needs either table or query")
        return self


Source = Annotated[FilesSource | SqlSource | PythonSource | DatabaseSource, Field(discriminator="type")]


def password_in(url: str) -> bool:
    """Whether a URL, as written in a file, contains a password that is not a variable."""
    return bool(_PASSWORD.search(_VARIABLE.sub("", url)))
