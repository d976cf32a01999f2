"""Rejects: which share of the rows of a load may be rejected, and where rejected rows are kept."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from paimon_lake.declarations.model import Model

TABLE_NAME = re.compile(r"\w+\.\w+")


def _table_name(value: str) -> str:
    if value and not TABLE_NAME.fullmatch(value):
        raise ValueError(f"must be <database>.<table>, not {value!r:.80}")
    return value


class Rejects(Model):
    """Which share of a load's rows may be rejected; a load with a greater share commits nothing."""

    max_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0
    """The greatest share of rejected rows, from 0 to 1."""
    table: Annotated[str, AfterValidator(_table_name)] = ""
    """The table of rejected rows; default: ``<table>__rejects``."""
