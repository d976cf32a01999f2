# ruff: noqa: E501
"""A declaration that is wrong: one sentence with file, line, key, rule and value, and the nearest known word."""

import re
from pathlib import Path

import pytest

from paimon_lake.declarations import SettingsError, load_settings

ORDERS = """\
comment: orders of the shop
columns:
  id: BIGINT
  day: DATE
  amount: DOUBLE
primary_key: id
options: {bucket: 2}
source:
  type: files
  path: in/*.csv
partitions:
  by: day
  start: 2024-01-01
  column: day
schedule: "0 5 * * *"
checks:
  - type: not_null
    columns: [id, day]
  - type: range
    column: amount
    min: 0
rejects:
  max_share: 0.01
owners: [team:shop]
"""
MISTAKES = [
    ("comment:", "coment:", ":1: unknown key coment; did you mean comment? (known here: …)"),
    (
        "  path:",
        "  paht:",
        ":10: unknown key source.paht; did you mean path? (known here: add, changed, fetch, format, late, lookup, options, path, rename, schema_changes, source_column, type); 1 more error in this file",
    ),
    (
        "  by: day",
        "  by: day\n  starts: 2024-01-01",
        ":13: unknown key partitions.starts; did you mean start? (known here: by, column, end, end_offset, start, timezone, values)",
    ),
    (
        "    min: 0",
        "    minimum: 0",
        ":21: unknown key checks[1].minimum; did you mean min? (known here: block, column, max, min, name, severity, type)",
    ),
    (
        "  max_share: 0.01",
        "  max-share: 0.01",
        ":23: unknown key rejects.max-share; did you mean max_share? (known here: max_share, table)",
    ),
    (
        "  amount: DOUBLE",
        "  amount: {type: DOUBLE, coment: in euros}",
        ":5: columns.amount.coment: unknown key; did you mean comment? (known here: type, comment)",
    ),
    ("  amount: DOUBLE", "  amount: {comment: in euros}", ":5: columns.amount: type is missing"),
    (
        "  amount: DOUBLE",
        "  amount: {type: DOUBLE}",
        ":5: columns.amount: comment is missing; a column without a comment is only its type",
    ),
    (
        "  amount: DOUBLE",
        "  amount: {type: DOUBLE, comment: 7}",
        ":5: columns.amount.comment: must be a text that is not empty: write it in quotes",
    ),
    (
        "  amount: DOUBLE",
        "  amount: {type: DOUBEL, comment: euros}",
        ":5: columns.amount: 'DOUBEL' is not a data type; did you mean DOUBLE?",
    ),
    (
        "comment:",
        "column_comments: {id: x}\ncomment:",
        ":1: unknown key column_comments: write `columns: {id: {type: ..., comment: ...}}`",
    ),
    ("  type: files", "  typ: files", ":8: source.type is missing; did you mean type instead of typ?"),
    (
        "  type: files\n",
        "",
        ":8: source.type is missing: one of database, files, kafka, postgres_changes, python, sql, table",
    ),
    (
        "  type: files",
        "  type: file",
        ":8: source.type must be one of database, files, kafka, postgres_changes, python, sql, table, not 'file'; did you mean files?",
    ),
    (
        "  type: files",
        "  type: pulsar",
        ":8: source.type pulsar is not supported yet: it must be one of database, files, kafka, postgres_changes, python, sql, table",
    ),
    (
        "  type: files",
        "  type: debezium",
        ":8: source.type debezium is not supported yet: it must be one of database, files, kafka, postgres_changes, python, sql, table; files of its events are of type files with format debezium-json",
    ),
    (
        "  type: files",
        "  type: 3",
        ":8: source.type must be one of database, files, kafka, postgres_changes, python, sql, table, not 3",
    ),
    ("  path: in/*.csv\n", "", ":8: source.path is missing"),
    ("  path: in/*.csv", "  path: 7", ":10: source.path must be a text, not 7: write it in quotes"),
    ("  path: in/*.csv", "  path: 2024-01-01", ":10: source.path must be a text, not 2024-01-01: write it in quotes"),
    ("  path: in/*.csv", "  path:", ":10: source.path must be a text, not empty"),
    ("  path: in/*.csv", "  path: ''", ":10: source.path must be a text that is not empty, not ''"),
    (
        "  path: in/*.csv",
        "  path: in/*.csv\n  format: csvv",
        ":11: source.format must be one of csv, json, jsonl, parquet, orc, avro, debezium-json, canal-json, maxwell-json, not 'csvv'; did you mean csv?",
    ),
    ("  path: in/*.csv", "  path: in/*.csv\n  late: maybe", ":11: source.late must be one of load, tell, not 'maybe'"),
    (
        "  path: in/*.csv",
        "  path: in/*.csv\n  add: {x: partitoin}",
        ":11: source.add.x must be one of partition, file, not 'partitoin'; did you mean partition?",
    ),
    (
        "  path: in/*.csv",
        "  path: in/*.csv\n  rename: [a]",
        ":11: source.rename must be a mapping of keys to values, not a list",
    ),
    ("  path: in/*.csv", "  path: in/*.csv\n  rename: {a: [b]}", ":11: source.rename.a must be a text, not a list"),
    ("  path: in/*.csv", "  path: in/*.csv\n  path: out", ":11: the key source.path occurs twice"),
    (
        "  path: in/*.csv",
        "  path: ${NO_SUCH_VARIABLE}/x",
        ":10: source.path needs the environment variable NO_SUCH_VARIABLE, which is not set",
    ),
    (
        "  path: in/*.csv",
        "  path: ${no such}/x",
        ":10: source.path: after ${ must come a name and }, as in ${NAME} or ${NAME:-default}; $${ stands for ${ itself",
    ),
    (
        "  by: day",
        "  by: days",
        ":12: partitions.by must be one of hour, day, week, month, static, dynamic, not 'days'; did you mean day?",
    ),
    ("  by: day", "  by: static", ":11: partitions: static partitions need values, their keys"),
    (
        "  by: day",
        "  by: dynamic",
        ":11: partitions: dynamic partitions take no start: it belongs to partitions by time",
    ),
    (
        "  by: day\n  start: 2024-01-01",
        "  by: static\n  values: [a]\n  timezone: UTC",
        ":11: partitions: static partitions take no timezone: it belongs to partitions by time",
    ),
    (
        "  by: day\n  start: 2024-01-01",
        "  by: dynamic\n  end_offset: 1",
        ":11: partitions: dynamic partitions take no end_offset: it belongs to partitions by time",
    ),
    (
        'schedule: "0 5 * * *"',
        "schedule: {on: files, timezone: UTC}",
        ":15: schedule.timezone: belongs to cron, and a schedule with on has none",
    ),
    (
        "primary_key: id",
        "natural_key: id\norder_by: day",
        ":7: order_by: needs a primary_key: only rows with the same key are ordered",
    ),
    (
        "options: {bucket: 2}",
        "options: {sequence.field: day}\norder_by: amount",
        ":7: options.sequence.field: is day, and order_by is amount",
    ),
    (
        None,
        "columns: {a: INT}\nprimary_key: a\nrejects: {max_share: 0.1}\n",
        ":3: rejects: is a setting of loads, so it needs a source",
    ),
    (
        None,
        "source: {type: sql, query: SELECT 1, inputs: shop.items, read: partition}\nprimary_key: id\n",
        ":1: source.read: partition needs partitions, which divide the loads",
    ),
    (
        "  path: in/*.csv",
        "  path: in/*.csv\n  rename: {Number: ident}",
        ":11: source.rename: 'ident' is not a column",
    ),
    ("  path: in/*.csv", "  path: in/*.csv\n  rename: {a: id, b: id}", ":11: source.rename: 'id' occurs twice"),
    (
        "  path: in/*.csv",
        "  path: in/*.csv\n  add: {days: partition}",
        ":11: source.add.days: 'days' is not a column; did you mean day?",
    ),
    (
        "  path: in/*.csv",
        "  path: in/*.csv\n  rename: {d: day}\n  add: {day: partition}",
        ":12: source.add.day: source.rename also sets this column",
    ),
    ("  amount: DOUBLE", "  amount: int64", ":5: columns.amount: 'int64' is not a data type; did you mean BIGINT?"),
    (
        "  amount: DOUBLE",
        "  amount: ARRAY<STRNG>",
        ":5: columns.amount: 'ARRAY<STRNG>' is not a data type: STRNG is no type; did you mean STRING?",
    ),
    (
        None,
        "columns: {a: 'INT', b: DECIMAL(5, 2)}\nprimary_key: a\n",
        ":1: columns.2) must be a text, not empty: in braces, a type with a comma needs quotes",
    ),
    ("  start: 2024-01-01\n", "", ":11: partitions: partitions by day need start, the first day"),
    ("  start: 2024-01-01", "  start: 2024-13-01", ":13: partitions.start: '2024-13-01' is not a date or time"),
    (
        "  start: 2024-01-01",
        "  start: 2024-01-01 05:00:00",
        ":13: partitions.start must be a date, such as 2024-01-31, not 2024-01-01 05:00:00",
    ),
    (
        "  start: 2024-01-01",
        "  start: 2024-01-01\n  end: 2023-01-01",
        ":11: partitions: the last day 2023-01-01 lies before the first day 2024-01-01",
    ),
    (
        "  start: 2024-01-01",
        "  start: 2024-01-01\n  timezone: Europe/Berlinn",
        ":14: partitions.timezone: 'Europe/Berlinn' is not the name of a time zone such as UTC or Europe/Berlin",
    ),
    (
        "  by: day\n",
        "  by: hour\n  timezone: Europe/Berlin\n",
        ":13: partitions.timezone: Europe/Berlin changes its clocks, so that an hour occurs twice and another never: "
        "partitions by hour need a time zone that does not, such as UTC",
    ),
    ("  column: day", "  column: dya", ":14: partitions.column: 'dya' is not a column; did you mean day?"),
    (
        "  column: day",
        "  column: amount",
        ":14: partitions.column amount is DOUBLE: partitions by day need a date, timestamp or text",
    ),
    (
        "  - type: not_null",
        "  - type: notnull",
        ":17: checks[0].type must be one of accepted_values, freshness, lag, not_null, parts_complete, range, row_count, sql, unique, volume, not 'notnull'; did you mean not_null?",
    ),
    (
        "    columns: [id, day]",
        "    columns: []",
        ":18: checks[0].columns must be a list with at least 1 entry, not an empty list",
    ),
    (
        "    columns: [id, day]",
        "    columns: [id, dya]",
        ":18: checks[0].columns: 'dya' is not a column; did you mean day?",
    ),
    (
        "    columns: [id, day]",
        "    columns: [1]",
        ":18: checks[0].columns[0] must be a text, not 1: write it in quotes",
    ),
    (
        "    columns: [id, day]",
        "    columns: [no, 12]",
        ":18: checks[0].columns[1] must be a text, not 12: write it in quotes",
    ),
    ("    min: 0\n", "", ":19: checks[1]: a range check needs min or max"),
    ("    min: 0", "    min: 0\n    max: -1", ":19: checks[1]: max -1 is less than min 0"),
    ("    min: 0", "    min: 0\n    max: much", ":19: checks[1]: min 0 and max 'much' cannot be compared"),
    (
        "  - type: range",
        "  - type: sql",
        ":20: unknown key checks[1].column (known here: block, name, query, severity, type); 3 more errors in this file",
    ),
    (
        "  - type: range",
        "  - type: range\n    severity: warning",
        ":20: checks[1].severity must be one of error, warn, not 'warning'; did you mean warn?",
    ),
    ("  - type: range", "  - type: range\n    block: yes", ":20: checks[1].block must be true or false, not 'yes'"),
    (
        "  - type: not_null",
        "  - type: freshness\n    max_hours: 0\n  - type: not_null",
        ":18: checks[0].max_hours must be greater than 0, not 0",
    ),
    (
        "  - type: not_null",
        "  - type: freshness\n    max_hours: soon\n  - type: not_null",
        ":18: checks[0].max_hours must be a number, not 'soon'",
    ),
    (
        "  - type: not_null",
        "  - type: freshness\n    max_hours: .inf\n  - type: not_null",
        ":18: checks[0].max_hours must be a finite number, not inf",
    ),
    (
        "  - type: not_null",
        "  - type: volume\n    loads: 0\n  - type: not_null",
        ":18: checks[0].loads must be 1 or more, not 0",
    ),
    (
        "  - type: not_null",
        "  - type: volume\n    loads: 2.5\n  - type: not_null",
        ":18: checks[0].loads must be a whole number, not 2.5",
    ),
    (
        "  - type: not_null",
        "  - type: volume\n    min_ratio: 3\n  - type: not_null",
        ":17: checks[0]: max_ratio 2.0 is less than min_ratio 3.0",
    ),
    (
        "  - type: not_null",
        "  - type: row_count\n    min: 5\n    max: 2\n  - type: not_null",
        ":17: checks[0]: max 2 is less than min 5",
    ),
    (
        "  - type: not_null",
        "  - {type: range, column: amount, max: 5}\n  - type: not_null",
        ":20: checks[2]: two checks have the name range_amount: set another name for one of them",
    ),
    ("  max_share: 0.01", "  max_share: 1%", ":23: rejects.max_share must be a number, not '1%'"),
    ("  max_share: 0.01", "  max_share: 5", ":23: rejects.max_share must be 1 or less, not 5"),
    ("  max_share: 0.01", "  max_share: .nan", ":23: rejects.max_share must be a finite number, not nan"),
    ("  max_share: 0.01", "  table: rejected", ":23: rejects.table: must be <database>.<table>, not 'rejected'"),
    ("primary_key: id", "primary_key: ident", ":6: primary_key: 'ident' is not a column"),
    ("primary_key: id", "primary_key: [id, id]", ":6: primary_key: 'id' occurs twice"),
    (
        "primary_key: id",
        "primary_key: [id, day]\nnatural_key: [id]",
        ":7: natural_key: a table has either a primary_key or a natural_key",
    ),
    ("primary_key: id\n", "mode: upsert\n", ":6: mode: upsert needs a primary_key"),
    (
        "primary_key: id",
        "primary_key: id\nmode: upsurt",
        ":7: mode must be one of upsert, append, overwrite-partitions, overwrite, changes, not 'upsurt'; did you mean upsert?",
    ),
    (
        "primary_key: id",
        "primary_key: id\nmode: overwrite-partitions",
        ":7: mode: overwrite-partitions needs partition_by",
    ),
    (
        "primary_key: id",
        "primary_key: id\nmode: changes",
        ":7: mode: changes needs kinds: name the column that says whether a row inserts, updates or deletes",
    ),
    (
        "primary_key: id",
        "primary_key: id\nkinds: {column: kind, insert: [I], delete: [I]}",
        ":7: kinds: the value 'I' has two meanings",
    ),
    ("primary_key: id", "primary_key: {id: 1}", ":6: primary_key must be a name or a list of names, not a mapping"),
    ("  amount: DOUBLE", "  amount: DUBLE", ":5: columns.amount: 'DUBLE' is not a data type; did you mean DOUBLE?"),
    (
        "  amount: DOUBLE",
        "  amount: ARRAY<INT, INT>",
        ":5: columns.amount: 'ARRAY<INT, INT>' is not a data type: expected '>' at position 9, not ', INT>'",
    ),
    (
        "  amount: DOUBLE",
        "  amount: ARRAY<VARIANT>",
        ":5: columns.amount: csv has no values of the type ARRAY<VARIANT>: load the table from parquet, a query or a function",
    ),
    (
        "  amount: DOUBLE",
        "  amount: DECIMAL(50, 2)",
        ":5: columns.amount: DECIMAL(50, 2) needs 1 <= precision <= 38 and 0 <= scale <= precision",
    ),
    ("  amount: DOUBLE", "  amount: [DOUBLE]", ":5: columns.amount must be a text, not a list"),
    (
        "  amount: DOUBLE",
        "  amount: " + "ARRAY<" * 2000 + "INT" + ">" * 2000,
        ":5: columns.amount: a type has 33 levels of nested types, the limit is 32",
    ),
    (
        "  amount: DOUBLE",
        "  _SEQUENCE_NUMBER: INT\n  amount: DOUBLE",
        ":5: columns._SEQUENCE_NUMBER: column name '_SEQUENCE_NUMBER' is reserved",
    ),
    (
        "options: {bucket: 2}",
        "options: {buckets: 2}",
        ":7: options.buckets: option 'buckets' = '2' is not an option of Paimon: did you mean 'bucket'?",
    ),
    (
        "options: {bucket: 2}",
        "options: {bucket: two}",
        ":7: options.bucket: option bucket = 'two' is not supported: it must be a whole number from -2 to 2147483647",
    ),
    (
        "options: {bucket: 2}",
        "options: {bucket: 2, primary-key: id}",
        ":7: options.primary-key: option 'primary-key' = 'id' is not supported: argument primary_key sets it",
    ),
    ("options: {bucket: 2}", "options: {bucket: 2, bucket: 3}", ":7: the key options.bucket occurs twice"),
    (
        "options: {bucket: 2}",
        "options: {bucket: 2, merge-engine: partial}",
        ":7: options.merge-engine: option merge-engine = 'partial' is not supported: it must be 'deduplicate' or 'partial-update' or 'aggregation' or 'first-row'",
    ),
    (
        "options: {bucket: 2}",
        "options: {bucket: 2, sequence.field: when}",
        ":7: options.sequence.field: option sequence.field names 'when', which is no column",
    ),
    ("options: {bucket: 2}", "options: {bucket: [2]}", ":7: options.bucket must be a text, not a list"),
    (
        "owners: [team:shop]",
        "owners: [shop]",
        ":24: owners: an owner must be an email address or team:<name>, not 'shop'",
    ),
    (
        'schedule: "0 5 * * *"',
        'schedule: "0 25 * * *"',
        ":15: schedule.cron: '0 25 * * *' is not a cron expression: '25' is no hour (0 to 23)",
    ),
    (
        'schedule: "0 5 * * *"',
        "schedule: every day",
        ":15: schedule.cron: 'every day' is not a cron expression: it has 2 fields instead of five (minute, hour, day of the month, month, day of the week), as in 0 5 * * *",
    ),
    (
        'schedule: "0 5 * * *"',
        "schedule: '@dayly'",
        ":15: schedule.cron: '@dayly' is not a cron expression: known words are @annually, @daily, @hourly, @midnight, @monthly, @weekly, @yearly",
    ),
    (
        'schedule: "0 5 * * *"',
        "schedule: 0 0 30 2 *",
        ":15: schedule.cron: '0 0 30 2 *' is not a cron expression that ever comes: no such month has day 30",
    ),
    (
        'schedule: "0 5 * * *"',
        "schedule: {on: input}",
        ":15: schedule.on must be one of inputs, files, changes, not 'input'; did you mean inputs?",
    ),
    ('schedule: "0 5 * * *"', "schedule: {on: inputs}", ":15: schedule.on: inputs needs a source with inputs"),
    (
        None,
        "columns: {a: INT}\nprimary_key: a\nschedule: '@daily'\n",
        ":3: schedule: a schedule loads a source, and this table has no source",
    ),
    (
        None,
        "primary_key: a\nsource: {type: python, function: m:f}\nschedule: {on: files}\n",
        ":3: schedule.on: files needs a source of type files, not python",
    ),
    ('schedule: "0 5 * * *"', "schedule: {timezone: UTC}", ":15: schedule: a schedule needs either cron or on"),
    (
        'schedule: "0 5 * * *"',
        "schedule: {cron: 0 5 * * *, timezone: Mars}",
        ":15: schedule.timezone: 'Mars' is not the name of a time zone such as UTC or Europe/Berlin",
    ),
    ('schedule: "0 5 * * *"', "schedule: 5", ":15: schedule: must be a cron expression in quotes or a mapping, not 5"),
    (
        'schedule: "0 5 * * *"',
        "compaction: {start_at_runs: 2, stop_at_runs: 2}",
        ":15: compaction: start_at_runs 2 must be greater than stop_at_runs 2",
    ),
    (
        'schedule: "0 5 * * *"',
        "retention: {keep_snapshots: 0}",
        ":15: retention.keep_snapshots must be 1 or more, not 0",
    ),
    ('schedule: "0 5 * * *"', "backfill_per_run: 0", ":15: backfill_per_run must be 1 or more, not 0"),
    ('schedule: "0 5 * * *"', "nightly_tag: maybe", ":15: nightly_tag must be true or false, not 'maybe'"),
    ('schedule: "0 5 * * *"', "name: shop.orders", ":15: the name of the file names the table: remove the key name"),
    (
        "comment:",
        "coment: a\nowner: b\ncomment:",
        ":1: unknown key coment; did you mean comment? (known here: …); 1 more error in this file",
    ),
    (None, "", ": the file is empty: a table needs at least primary_key or source"),
    (None, "- a\n", ": the file must be a mapping of keys to values, not a list"),
    (
        None,
        "source: {type: sql, inputs: [shop.items]}\ncolumns: infer\nprimary_key: id\n",
        ":1: source: a sql source needs either query or file",
    ),
    (None, "source: {type: sql, query: SELECT 1}\nprimary_key: id\n", ":1: source.inputs is missing"),
    (
        None,
        "source: {type: sql, query: SELECT 1, inputs: []}\nprimary_key: id\n",
        ":1: source.inputs must be a list with at least 1 entry, not an empty list",
    ),
    (
        None,
        "source: {type: sql, query: SELECT 1, inputs: [shop.item]}\nprimary_key: id\ncolumns: {id: INT}\n",
        ":1: source.inputs names shop.item, which is not declared; did you mean shop.items?",
    ),
    (
        None,
        "source: {type: sql, query: SELECT 1, inputs: shop.orders}\nprimary_key: id\ncolumns: {id: INT}\n",
        ":1: the inputs form a cycle: shop.orders <- shop.orders",
    ),
    (
        None,
        "source: {type: sql, query: SELECT 1, inputs: shop.items, read: all}\nprimary_key: id\n",
        ":1: source.read must be one of partition, whole, changes, not 'all'",
    ),
    (
        None,
        "source: {type: python, function: make}\nprimary_key: id\n",
        ":1: source.function: must be module:function, not 'make'",
    ),
    (
        None,
        "source: {type: database, url: 'postgresql://u:hidden@h/d', table: t}\nprimary_key: id\n",
        ":1: source.url contains a password: write the name of its variable, such as postgresql://user:${PASSWORD}@host/database",
    ),
    (
        None,
        "source: {type: database, url: 'postgresql://h/d?user=u&password=hidden', table: t}\nprimary_key: id\n",
        ":1: source.url contains a password: write the name of its variable, such as postgresql://user:${PASSWORD}@host/database",
    ),
    (
        None,
        "source: {type: database, url: 'mysql://u:${PASSWORD:-}@h/d', table: t}\nprimary_key: id\n",
        ":1: source.url: must be postgresql://... or sqlite:///path",
    ),
    (
        None,
        "source: {type: database, url: 'sqlite:///x.db'}\nprimary_key: id\n",
        ":1: source: a database source needs either table or query",
    ),
    (
        None,
        "source: {type: database, url: 'sqlite:///x.db', table: t, parts: 0}\nprimary_key: id\n",
        ":1: source.parts must be 1 or more, not 0",
    ),
    (None, "comment: nothing else\n", ": a table needs columns, or a source from which they are inferred"),
    (None, "columns: {a: INT}\n", ": a table needs a primary_key or a natural_key"),
    (
        None,
        "columns: infer\nsource: {type: database, url: 'sqlite:///x.db', table: t}\nprimary_key: id\n",
        ":1: columns: the columns of a source of type database cannot be inferred: list them in the declaration",
    ),
    (None, "columns: infer\nprimary_key: a\n", ": a table needs columns, or a source from which they are inferred"),
    (None, "columns: some\nprimary_key: a\n", ":1: columns: must be infer or a mapping of names to types, not 'some'"),
    (
        "owners: [team:shop]",
        'owners: "team:"',
        ":24: owners: an owner must be an email address or team:<name>, not 'team:'",
    ),
    (
        None,
        "columns: {id: INT}\nprimary_key: id\nsource: landing\n",
        ":3: source must be a mapping of keys to values, not 'landing'",
    ),
    (
        None,
        "columns: {id: INT}\nprimary_key: id\npartitions: daily\n",
        ":3: partitions.by must be one of hour, day, week, month, static, dynamic, not 'daily'; did you mean day?",
    ),
    (None, "columns: {id: INT}\nprimary_key: id\nchecks: 5\n", ":3: checks must be a list, not 5"),
    (
        None,
        "columns: {id: INT}\nprimary_key: id\nchecks: [unique]\n",
        ":3: checks[0] must be a mapping of keys to values, not 'unique'",
    ),
    (
        None,
        "columns: {id: INT}\nprimary_key: id\nschedule: [0 5 * * *]\n",
        ":3: schedule: must be a cron expression in quotes or a mapping, not a list",
    ),
    (
        None,
        "source: {type: database, url: 'postgresql://u:${PASSWORD:-hidden}@h/d', table: t}\nprimary_key: id\n",
        ":1: source.url contains a password: write the name of its variable, such as postgresql://user:${PASSWORD}@host/database",
    ),
    (
        None,
        "source: 'postgresql://u:hidden@h/d'\nprimary_key: id\n",
        ":1: source must be a mapping of keys to values, not 'postgresql://***@h/d'",
    ),
    (
        "owners: [team:shop]",
        "owners: [team:shop]\nmark_done: true",
        ":25: mark_done: needs a source, and partitions whose column is the only one in partition_by: a load marks the partitions that it loaded",
    ),
    (
        None,
        "source: {type: files, path: a.csv}\nmode: changes\nkinds: {column: k}\n",
        ":2: mode: changes needs a primary_key",
    ),
]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables").mkdir()
    (tmp_path / "base.yaml").write_text("warehouse: w\n")
    (tmp_path / "local.yaml").write_text("")
    (tmp_path / "tables" / "shop.items.yaml").write_text("columns: {id: INT}\nprimary_key: id\n")
    (tmp_path / "tables" / "shop.orders.yaml").write_text(ORDERS)
    return tmp_path


def refused(lake: Path) -> str:
    with pytest.raises(SettingsError) as raised:
        load_settings(configs=lake)
    return str(raised.value)


def test_the_table_without_a_mistake(lake: Path) -> None:
    assert load_settings(configs=lake).table("shop.orders").write_mode == "upsert"


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_in_a_table(lake: Path, old: str | None, new: str, message: str) -> None:
    """``old`` None: the whole file is ``new``."""
    assert old is None or ORDERS.count(old) == 1
    (lake / "tables" / "shop.orders.yaml").write_text(new if old is None else ORDERS.replace(old, new))
    said = re.sub(r" \(known here: backfill.*?\)", " (known here: …)", refused(lake))
    assert said == f"tables/shop.orders.yaml{message}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("orders.yaml", "tables/orders.yaml: the name of the file must be <database>.<table>.yaml"),
        ("a.b.c.yaml", "tables/a.b.c.yaml: the name of the file must be <database>.<table>.yaml"),
        ("shop.old orders.yaml", "tables/shop.old orders.yaml: the name of the file must be <database>.<table>.yaml"),
        ("shop.more.yml", "tables/shop.more.yml: the name of the file must end with .yaml"),
        (
            "shop.con.yaml",
            "tables/shop.con.yaml: table name 'con' is not portable: Windows reserves it, or it starts or "
            "ends with a space",
        ),
        ("sys.orders.yaml", "tables/sys.orders.yaml: database name 'sys' is reserved for Paimon's system tables"),
    ],
)
def test_a_mistake_in_the_name_of_a_file(lake: Path, name: str, message: str) -> None:
    (lake / "tables" / name).write_text("columns: {id: INT}\nprimary_key: id\n")
    assert refused(lake) == message


def test_hidden_files_of_editors_are_no_declarations(lake: Path) -> None:
    (lake / "tables" / ".shop.orders.yaml").write_text("[")
    (lake / "tables" / ".#shop.orders.yaml").symlink_to("nowhere")
    assert set(load_settings(configs=lake).tables) == {"shop.items", "shop.orders"}


@pytest.mark.parametrize(
    ("base", "local", "message"),
    [
        (
            "warehose: w\n",
            "",
            "base.yaml:1: unknown key warehose; did you mean warehouse? (known here: allowed_roots, catalog, dagster, "
            "groups, landing_directory, maintenance, postgres, spark, storage, warehouse)",
        ),
        (
            "spark: {master: x}\n",
            "spark: {confg: {}}\n",
            "local.yaml:1: unknown key spark.confg; did you mean conf? (known here: app_name, conf, master)",
        ),
        (
            "spark: {master: 5}\n",
            "dagster: {step_retries: x}\n",
            "base.yaml:1: spark.master must be a text, not 5: write it in quotes",
        ),
        (
            "spark: {master: 5}\n",
            "dagster: {step_retries: -1}\nspark: {master: x}\n",
            "local.yaml:1: dagster.step_retries must be 0 or more, not -1",
        ),
        ("spark: local\n", "", "base.yaml:1: spark must be a mapping of keys to values, not 'local'"),
        (
            "dagster: {nightly_cron: ''}\n",
            "",
            "base.yaml:1: dagster.nightly_cron must be a text that is not empty, not ''",
        ),
        (
            "dagster: {nightly_cron: 0 3 * *}\n",
            "",
            "base.yaml:1: dagster.nightly_cron: '0 3 * *' is not a cron expression: it "
            "has 4 fields instead of five (minute, hour, day of the month, month, day of the week), as in 0 5 * * *",
        ),
        (
            "dagster: {nightly_timezone: CEST}\n",
            "",
            "base.yaml:1: dagster.nightly_timezone: 'CEST' is not the name of a time zone such as UTC or Europe/Berlin",
        ),
        (
            "storage: {s3.secret-key: hidden}\n",
            "",
            "base.yaml:1: storage.s3.secret-key is a secret: write the name of its variable, ${NAME} or ${NAME:-}",
        ),
        (
            "storage: {s3.secret_key: hidden}\n",
            "",
            "base.yaml:1: unknown key storage.s3.secret_key; did you mean s3.secret-key?",
        ),
    ],
)
def test_a_mistake_in_the_settings(lake: Path, base: str, local: str, message: str) -> None:
    (lake / "base.yaml").write_text(base)
    (lake / "local.yaml").write_text(local)
    assert refused(lake) == message


def test_no_message_repeats_the_value_of_a_variable(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("URL", "mysql://user:hidden@host/db")
    (lake / "base.yaml").write_text("spark: ${URL}\n")
    assert refused(lake) == "base.yaml:1: spark must be a mapping of keys to values, not '${URL}'"
    (lake / "base.yaml").write_text("")
    text = "columns: {id: INT}\nprimary_key: id\nsource: {type: database, url: '${URL}', table: t}\n"
    (lake / "tables" / "shop.orders.yaml").write_text(text)
    assert "hidden" not in refused(lake)


def test_a_password_is_not_shown_with_the_settings(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "hidden")
    text = "columns: {id: INT}\nprimary_key: id\nsource: {type: database, url: 'postgresql://u:${PASSWORD}@h/d', table: t}\n"
    (lake / "tables" / "shop.orders.yaml").write_text(text)
    (lake / "base.yaml").write_text("spark: {conf: {spark.hadoop.fs.s3a.secret.key: '${PASSWORD}'}}\n")
    settings = load_settings(configs=lake)
    assert getattr(settings.table("shop.orders").source, "url", "") == "postgresql://u:hidden@h/d"
    assert "hidden" not in repr(settings) + str(settings.table("shop.orders"))


def test_a_literal_dollar_and_brace(lake: Path) -> None:
    (lake / "base.yaml").write_text("spark: {conf: {a: '$${HOME} $1'}}\n")
    assert load_settings(configs=lake).spark.conf == {"a": "${HOME} $1"}


def test_short_forms_and_values_that_become_texts(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRST", "2024-05-01")
    (lake / "tables" / "shop.orders.yaml").write_text(
        "columns: {id: INT, no: DATE}\nprimary_key: id\nsource: {type: files, path: x.csv}\nowners: a@b.de\npartitions: {by: day, start: '${FIRST}'}\n"
        "schedule: '@daily'\noptions: {bucket: 1, write-only: true, snapshot.time-retained: 1 d}\n"
    )
    table = load_settings(configs=lake).table("shop.orders")
    assert (table.primary_key, table.owners, list(table.columns)) == (("id",), ("a@b.de",), ["id", "no"])
    assert str(table.partitions and table.partitions.start) == "2024-05-01"
    assert table.schedule is not None
    assert table.schedule.cron == "@daily"
    assert table.options == {"bucket": "1", "write-only": "true", "snapshot.time-retained": "1 d"}


def test_a_number_as_an_option_keeps_its_text(lake: Path) -> None:
    (lake / "base.yaml").write_text("spark: {conf: {version: 2.10, day: 2024-01-01, size: 010}}\n")
    assert load_settings(configs=lake).spark.conf == {"version": "2.10", "day": "2024-01-01", "size": "010"}


def test_a_table_with_a_key_has_one_bucket_unless_it_says_otherwise(lake: Path) -> None:
    tables = load_settings(configs=lake).tables
    assert [tables[name].table_options["bucket"] for name in ("shop.items", "shop.orders")] == ["1", "2"]


def test_loads_only_write_and_are_recorded_also_without_rows(lake: Path) -> None:
    options = load_settings(configs=lake).tables["shop.orders"].table_options
    assert options == {"bucket": "2", "write-only": "true", "commit.force-create-snapshot": "true"}
