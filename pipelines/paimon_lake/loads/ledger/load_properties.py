"""Load properties: the names of the properties with the numbers of rows of a load, and the commit user of loads.

Loads write the properties and checks read them. Checks must not import from loads, so this module has the names.
"""

PARTITIONS, PARTITION_COUNT = "pipeline.partitions", "pipeline.partition-count"
"""The requested partitions of a load, as a JSON list of keys, and the number of partitions that the load read."""
ROWS_READ, ROWS_WRITTEN, ROWS_REJECTED = "pipeline.rows-read", "pipeline.rows-written", "pipeline.rows-rejected"
ROWS_MERGED = "pipeline.rows-merged"
"""What these words mean is defined in docs/glossary.md; ``WriteResult`` computes them."""
ROWS_WAITING, ROWS_RETRIED = "pipeline.rows-waiting", "pipeline.rows-retried"
"""The rows that a load has read and that wait for rows of other tables; the rows that waited before, and that the load
wrote or rejected. So read + retried = written + rejected + waiting."""


def load_user(table: str) -> str:
    """Return the commit user of the loads of a table."""
    return f"load {table}"
