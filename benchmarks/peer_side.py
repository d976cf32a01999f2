"""Times another Python library; run by the Python interpreter of that library's environment.

``peer_side.py rust|pypaimon WAREHOUSE TABLE ROWS BATCHES KEYS REPEATS`` writes the batches of the workload to an empty
table, one commit each, then reads all columns. It prints one JSON object with the seconds of each and the rows read.
``peer_side.py LIBRARY WAREHOUSE TABLE plan`` prints the processor seconds of three plans of the table.
"""

import json
import sys
import time

import pyarrow as pa
import workload


def timed(work):
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def open_table(library, warehouse, table):
    if library == "rust":
        from pypaimon_rust.datafusion import PaimonCatalog

        return PaimonCatalog({"warehouse": warehouse}).get_table(f"db.{table}")
    import pypaimon

    return pypaimon.CatalogFactory.create({"warehouse": warehouse}).get_table(f"db.{table}")


def write(table, batch):
    builder = table.new_batch_write_builder()
    writer, commit = builder.new_write(), builder.new_commit()
    for piece in batch.to_batches():
        (writer.write_arrow_batch if hasattr(writer, "write_arrow_batch") else writer.write_arrow)(piece)
    commit.commit(writer.prepare_commit())
    writer.close()


def read(table):
    builder = table.new_read_builder()
    splits = builder.new_scan().plan().splits()
    reader = builder.new_read()
    if hasattr(reader, "read"):
        return pa.Table.from_batches(reader.read(splits)).num_rows
    return reader.to_arrow(splits).num_rows


def plan(library, warehouse, name):
    seconds = []
    for _ in range(3):
        start = time.process_time()
        assert open_table(library, warehouse, name).new_read_builder().new_scan().plan().splits()
        seconds.append(time.process_time() - start)
    print("ANSWER" + json.dumps({"plan": seconds}))


def main(library, warehouse, name, *numbers):
    rows, batches, keys, repeats = map(int, numbers)
    table = open_table(library, warehouse, name)
    write(open_table(library, warehouse, f"{name}_warm"), workload.batch(0, min(rows, 100_000), keys))
    seconds = []
    for k in range(batches):
        batch = workload.batch(k, rows, keys)
        seconds.append(timed(lambda batch=batch: write(table, batch))[0])
    reads = [timed(lambda: read(table)) for _ in range(repeats)]
    print("ANSWER" + json.dumps({"write": seconds, "read": [s for s, _ in reads], "rows": reads[-1][1]}))


if __name__ == "__main__":
    plan(*sys.argv[1:-1]) if sys.argv[-1] == "plan" else main(*sys.argv[1:])
