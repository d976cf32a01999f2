"""Load properties: the names of the properties with the numbers of rows of a load, and the commit user of loads.

Loads write the properties and checks read them. Checks must not import from loads, so this module has the names.
"""

import hashlib
import json

PARTITIONS, PARTITION_COUNT = "pipeline.partitions", "pipeline.partition-count"
"""The requested partitions of a load, as a JSON list of keys, and the number of partitions that the load read."""
ROWS_READ, ROWS_WRITTEN, ROWS_REJECTED = "pipeline.rows-read", "pipeline.rows-written", "pipeline.rows-rejected"
ROWS_MERGED = "pipeline.rows-merged"
"""What these words mean is defined in docs/glossary.md; ``WriteResult`` computes them."""
ROWS_WAITING, ROWS_RETRIED = "pipeline.rows-waiting", "pipeline.rows-retried"
"""``ROWS_WAITING``: the number of rows that a load read and that wait for rows of other tables. ``ROWS_RETRIED``: the
number of rows that waited before and that the load wrote or rejected. So read + retried = written + rejected + waiting.
"""
_PART = " part "


def load_user(loaded: str) -> str:
    """Return the commit user of the loads with a load name, which names a table or one of its parts."""
    return f"load {loaded}"


def is_load_user(user: str, table: str) -> bool:
    """Whether a commit user is the user of the loads of a table or of one of its parts."""
    return user == load_user(table) or user.startswith(load_user(table) + _PART)


def part_of(user_or_name: str) -> str:
    """Return the part in a load name or in the commit user of a load; "" for a whole table."""
    return user_or_name.partition(_PART)[2]


def table_of(loaded: str) -> str:
    """Return the table of a load name."""
    return loaded.partition(_PART)[0]


def load_command(loaded: str) -> str:
    """Return the command that loads the table, or the part of a table, with this load name."""
    return f"paimon-lake load {_asked(loaded)}"


def release_command(loaded: str) -> str:
    """Return the command that drops the slot of the table, or of the part of a table, with this load name."""
    return f"paimon-lake release {_asked(loaded)}"


def _asked(loaded: str) -> str:
    part = part_of(loaded)
    return f"--table {table_of(loaded)}{f' --part {part}' if part else ''}"


def key_digest(value: object) -> str:
    """Return the digest of a JSON value, for the key of a load. Tables have recorded such digests, so the function must
    not change.

    The order of the keys of a mapping counts.
    """
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
