"""Times queries of pypaimon; run by the Python interpreter of its environment.

``peer_queries.py WAREHOUSE`` reads one JSON list per line: table, columns or null, low, high, limit, repeats. It prints
the rows, the checksum and the processor seconds of each run.
"""

import json
import sys
import time

import pypaimon
import workload


def query(warehouse, table, columns, low, high, limit):
    """Return the rows and the processor seconds of one query by a new catalog."""
    before = time.process_time()
    builder = pypaimon.CatalogFactory.create({"warehouse": warehouse}).get_table(f"db.{table}").new_read_builder()
    if low is not None:
        builder = builder.with_filter(builder.new_predicate_builder().between("id", low, high))
    if columns is not None:
        builder = builder.with_projection(columns)
    if limit:
        builder = builder.with_limit(limit)
    splits = builder.new_scan().plan().splits()
    rows = builder.new_read().to_arrow(splits)
    rows = rows.slice(0, limit) if limit else rows
    return rows, time.process_time() - before


def main(warehouse):
    """Answer the queries of standard input."""
    for line in sys.stdin:
        *arguments, repeats = json.loads(line)
        seconds = []
        for _ in range(repeats):
            rows, spent = query(warehouse, *arguments)
            seconds.append(spent)
        answer = {"rows": rows.num_rows, "checksum": workload.checksum_of(rows), "seconds": seconds}
        print("ANSWER" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
