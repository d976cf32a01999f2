"""SHOW CREATE TABLE: the text makes the same table."""

import paimon_core as paimon
from paimon_core.spark.sql.grammar.parse import parse
from paimon_core.spark.sql.inspection import create_text

ODD = "it's a \\ and \\n, \"x\" ''"


def test_texts_with_quotes_and_backslashes_are_reproduced(tmp_path):
    catalog = paimon.open_catalog(str(tmp_path))
    catalog.create_database("db")
    doubled = ODD.replace("'", "''")
    columns = f"a STRING COMMENT '{doubled}', s ROW<b INT COMMENT '{doubled}'>"
    table = catalog.create_table("db.t", columns, options={"file.format": "orc"}, comment=ODD)
    found = parse(create_text(table))
    again = catalog.create_table("db.u", found.columns, options=found.properties, comment=found.comment)
    assert [f.description for f in again.schema.fields] == [ODD, None]
    assert (again.schema.fields, again.schema.comment) == (table.schema.fields, ODD)
