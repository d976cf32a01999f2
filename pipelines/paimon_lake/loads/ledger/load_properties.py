"""Load properties: what the snapshot of a load says about its rows, and the user who commits loads.

Loads write them and checks read them; checks are below loads, so the names are here.
"""

PARTITIONS, PARTITION_COUNT = "pipeline.partitions", "pipeline.partition-count"
"""The keys of the partitions that a load was asked for, as a JSON list, and the number of partitions that it read."""
ROWS_READ, ROWS_WRITTEN, ROWS_REJECTED = "pipeline.rows-read", "pipeline.rows-written", "pipeline.rows-rejected"
ROWS_MERGED = "pipeline.rows-merged"
"""What these words mean is defined in docs/glossary.md; ``WriteResult`` computes them."""


def load_user(table: str) -> str:
    """Return the commit user of the loads of a table."""
    return f"load {table}"
