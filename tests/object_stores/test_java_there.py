"""Java Paimon and this library write and read the same table on an S3 server in turn."""

import pyarrow as pa

import paimon_core as paimon

ROWS = pa.schema([("k", pa.int64()), ("v", pa.string())])


def rows(**values):
    return pa.table({"k": [int(k[1:]) for k in values], "v": list(values.values())}, schema=ROWS)


def test_java_reads_what_we_wrote_and_the_reverse(s3, oracle):
    catalog = paimon.open_catalog(s3.url, storage=s3.options)
    catalog.create_database("db")
    table = catalog.create_table("db.t", ROWS, primary_key=["k"], options={"bucket": "1"})
    table.write(rows(k1="a", k2="b"))
    table.write(rows(k2="B", k3="c"))
    options = {name: value for name, value in s3.options.items() if name != "s3.region"}
    found = oracle.run(
        s3.url,
        [
            {"op": "dump", "table": "db.t"},
            {"op": "write", "table": "db.t", "rows": [["+I", 4, "java"], ["-D", 1, "a"]]},
        ],
        catalog_options={**options, "s3.path.style.access": "true"},
    )
    assert found[0]["rows"] == [["+I", 1, "a"], ["+I", 2, "B"], ["+I", 3, "c"]]
    assert found[1]["snapshot"] == 3
    assert table.scan().to_arrow().sort_by("k").to_pydict() == rows(k2="B", k3="c", k4="java").to_pydict()
    table.compact(full=True)
    found = oracle.run(
        s3.url,
        [{"op": "dump", "table": "db.t"}],
        catalog_options={**options, "s3.path.style.access": "true"},
    )
    assert found[0]["rows"] == [["+I", 2, "B"], ["+I", 3, "c"], ["+I", 4, "java"]]
