# ruff: noqa: E501
"""Wrong declarations of sources: of change events, Kafka, PostgreSQL, lookups and parts, each with its one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.declared_lakes import refused, written_lake

EVENTS = (
    "shop.products",
    """\
columns: {id: BIGINT, name: STRING, at: TIMESTAMP(3)}
primary_key: id
source:
  type: files
  path: in/*.json
  format: debezium-json
""",
)
KAFKA = (
    "shop.messages",
    """\
columns: {id: BIGINT, t: STRING}
primary_key: id
source: {type: kafka, servers: "kafka.example:9092", topic: orders, format: json}
""",
)
LOOKUPS = (
    "ods.flights",
    """\
columns: {flight: BIGINT, tail: STRING, model: STRING}
primary_key: flight
source:
  type: files
  path: "flights/*.csv"
  lookup:
    - table: dim.planes
      on: {tail: id}
      columns: {model: model}
      missing: wait
      max_wait: 2 d
""",
)
PARTS = (
    "d.wide",
    """\
columns:
  id: BIGINT
  day: DATE
  gate: STRING
  gate_at: INT
  delay: INT
  delay_at: INT
primary_key: [id, day]
parts:
  gates:
    source: {type: files, path: "gates/{date}.csv"}
    columns: gate
    order_by: gate_at
  delays:
    source: {type: sql, inputs: [d.delays], read: changes, query: SELECT 1}
    columns: delay
    order_by: delay_at
    kinds: {column: rowkind}
    deletes: row
partitions: {by: day, start: 2024-01-01, column: day}
checks:
  - {type: parts_complete, max_wait: 2 h, parts: gates}
""",
)
CHANGES = (
    "shop.changes",
    """\
columns: {id: BIGINT, t: STRING}
primary_key: id
source: {type: postgres_changes, url: "postgresql://lake@db.example/shop", table: s.o}
""",
)
OTHERS = {
    "dim.planes": "columns: {id: STRING, model: STRING, weight: DOUBLE}\nprimary_key: id\n",
    "d.delays": "columns: {id: BIGINT, delay: INT}\nprimary_key: id\nsource: {type: files, path: delays/*.csv}\n",
}
WRONG = [
    (EVENTS, "primary_key: id\n", "", ":5: source.format: debezium-json needs a primary_key: its events update and delete rows by their keys"),
    (EVENTS, "primary_key: id", "natural_key: id", ":6: source.format: debezium-json needs a primary_key: its events update and delete rows by their keys"),
    (EVENTS, "primary_key: id", "primary_key: id\nkinds: {column: op}", ":3: kinds: the events of debezium-json say whether a row is inserted, updated or deleted: remove kinds"),
    (EVENTS, "primary_key: id", "primary_key: id\npartition_by: id\nmode: upsert", ":4: mode: debezium-json inserts, updates and deletes rows, so upsert does not fit: remove mode"),
    (EVENTS, "primary_key: id", "primary_key: id\npartition_by: id\nmode: append", ":4: mode: debezium-json inserts, updates and deletes rows, so append does not fit: remove mode"),
    (EVENTS, "primary_key: id", "primary_key: id\npartition_by: id\nmode: overwrite", ":4: mode: debezium-json inserts, updates and deletes rows, so overwrite does not fit: remove mode"),
    (EVENTS, "primary_key: id", "primary_key: id\npartition_by: id\nmode: overwrite-partitions", ":4: mode: debezium-json inserts, updates and deletes rows, so overwrite-partitions does not fit: remove mode"),
    (EVENTS, "{id: BIGINT, name: STRING, at: TIMESTAMP(3)}", "infer", ":1: columns: the columns of debezium-json cannot be inferred: write them down"),
    (EVENTS, "primary_key: id", "primary_key: id\noptions: {merge-engine: partial-update}", ":3: options.merge-engine: partial-update does not fit debezium-json: the events have whole rows, and deletes remove them; it must be deduplicate"),
    (EVENTS, "primary_key: id", "primary_key: id\noptions: {merge-engine: aggregation}", ":3: options.merge-engine: aggregation does not fit debezium-json: the events have whole rows, and deletes remove them; it must be deduplicate"),
    (EVENTS, "primary_key: id", "primary_key: id\noptions: {merge-engine: first-row}", ":3: options.merge-engine: first-row does not fit debezium-json: the events have whole rows, and deletes remove them; it must be deduplicate"),
    (EVENTS, "primary_key: id", "primary_key: id\noptions: {changelog-producer: input}", ":3: options.changelog-producer: input does not fit debezium-json: the events may lack the old rows; it must be none or lookup or full-compaction"),
    (EVENTS, "primary_key: id", "primary_key: id\noptions: {rowkind.field: name}", ":3: options.rowkind.field: does not fit debezium-json: the events have the kinds of rows"),
    (EVENTS, "  path: in/*.json", "  path: in/{name}.json\n  add: {id: partition}", ":6: source.add.id: is in the primary key: an event could not delete a row of another file"),
    (EVENTS, "  type: files", "  type: files\n  changed: load", ":5: source.changed: load would apply the events of a changed file after the events of later files: load with `--reload`"),
    (EVENTS, "debezium-json", "debezium", ":6: source.format must be one of csv, json, jsonl, parquet, orc, avro, debezium-json, canal-json, maxwell-json, not 'debezium'; did you mean debezium-json?"),
    (EVENTS, "name: STRING", "name: VARIANT", ":1: columns.name: debezium-json has no values of the type VARIANT: load the table from parquet, a query or a function"),
    (KAFKA, '"kafka.example:9092"', "kafka.example", ":3: source.servers: must be host:port, or a list of them, such as kafka.example:9092"),
    (KAFKA, '"kafka.example:9092"', '"kafka://kafka.example:9092"', ":3: source.servers: must be host:port, or a list of them, such as kafka.example:9092"),
    (KAFKA, '"kafka.example:9092"', '"lake:canary@kafka.example:9092"', ":3: source.servers: must be host:port, or a list of them, such as kafka.example:9092"),
    (KAFKA, '"kafka.example:9092"', "[]", ":3: source.servers must be a list with at least 1 entry, not an empty list"),
    (KAFKA, "topic: orders, ", "", ":3: source.topic is missing"),
    (KAFKA, "topic: orders", "topic: []", ":3: source.topic must be a list with at least 1 entry, not an empty list"),
    (KAFKA, "topic: orders", 'topic: "a b"', ":3: source.topic: 'a b' is no name of a topic: at most 249 of A-Z, a-z, 0-9, . _ - and *"),
    (KAFKA, "topic: orders", 'topic: "^shop.*$"', ":3: source.topic: '^shop.*$' is no name of a topic: at most 249 of A-Z, a-z, 0-9, . _ - and *"),
    (KAFKA, ", format: json", "", ":3: source.format is missing"),
    (KAFKA, "format: json", "format: avro", ":3: source.format must be one of json, debezium-json, canal-json, maxwell-json, not 'avro'"),
    (KAFKA, "json}", "json, topics: x}", ":3: unknown key source.topics; did you mean topic? (known here: …)"),
    (KAFKA, "json}", "json, starts: begin}", ":3: source.starts must be one of earliest, latest, not 'begin'"),
    (KAFKA, "json}", "json, starts: 12}", ":3: source.starts must be one of earliest, latest, not 12"),
    (KAFKA, "json}", "json, offsets: {orders: {a: 1}}}", ":3: source.offsets.orders: 'a' is no number of a partition"),
    (KAFKA, "json}", "json, offsets: {orders: {0: -1}}}", ":3: source.offsets.orders.0 must be 0 or more, not -1"),
    (KAFKA, "json}", "json, offsets: {orders: 5}}", ":3: source.offsets.orders must be a mapping of keys to values, not 5"),
    (KAFKA, "json}", "json, batch_rows: 0}", ":3: source.batch_rows must be 1 or more, not 0"),
    (KAFKA, "json}", "json, batch_bytes: 2000000000}", ":3: source.batch_bytes must be 1.07374e+09 or less, not 2000000000"),
    (KAFKA, "json}", "json, run_seconds: 0}", ":3: source.run_seconds must be 1 or more, not 0"),
    (KAFKA, "json}", "json, options: {encoding: latin-1}}", ":3: source.options.encoding: messages are UTF-8: remove it"),
    (KAFKA, "json}", "json, client: {enable.auto.commit: true}}", ":3: source.client.enable.auto.commit: is no setting of the client that can be declared: client.id, client.rack, group.id, sasl.mechanism, sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret, sasl.oauthbearer.method, sasl.oauthbearer.scope, sasl.oauthbearer.token.endpoint.url, sasl.password, sasl.username, security.protocol, ssl.ca.location, ssl.ca.pem, ssl.certificate.location, ssl.certificate.pem, ssl.endpoint.identification.algorithm, ssl.key.location, ssl.key.password, ssl.key.pem"),
    (KAFKA, "json}", "json, client: {sasl.pasword: x}}", ":3: source.client.sasl.pasword: is no setting of the client that can be declared; did you mean sasl.password?"),
    (KAFKA, "json}", "json, client: {sasl.password: canary}}", ":3: source.client.sasl.password is a secret: write the name of its variable, ${NAME}"),
    (KAFKA, "json}", 'json, client: {ssl.key.pem: "canary${A:-b}"}}', ":3: source.client.ssl.key.pem is a secret: write the name of its variable, ${NAME}"),
    (KAFKA, "format: json", "format: debezium-json, options: {table: o_*}", ":3: source.options.table: patterns need files of change events: name one"),
    (KAFKA, "json}", "json, schema_changes: apply}", ":3: source.schema_changes: needs change events: debezium-json or canal-json or maxwell-json"),
    (KAFKA, "json}", "json, key: t}", ":3: source.key: must be the primary_key, id: a tombstone deletes the row with its key"),
    (KAFKA, "json}", "json, key: [id, t]}", ":3: source.key: must be the primary_key, id: a tombstone deletes the row with its key"),
    (KAFKA, "format: json", "format: canal-json, key: id", ":3: source.key: has no place with canal-json, whose tombstones delete nothing"),
    (KAFKA, "json}", "json, key: id}\norder_by: t", ":3: source.key: has no place with order_by: a tombstone has no value that orders it"),
    (KAFKA, "json}", "json, key: id}\nkinds: {column: op}", ":3: source.key: has no place with kinds: either the tombstones delete rows or the kinds do"),
    (KAFKA, "json}", "json, key: id}\noptions: {merge-engine: first-row}", ":4: options.merge-engine: must be deduplicate, because tombstones delete rows"),
    (KAFKA, "json}", "json, key: id}\noptions: {changelog-producer: input}", ":4: options.changelog-producer: must be none, lookup, full-compaction, because tombstones delete rows"),
    (KAFKA, "json}", "json}\npartitions: dynamic", ":4: partitions: has no place here: loads of Kafka are divided by offsets, not by partitions"),
    (KAFKA, "json}", "json}\nmode: overwrite", ":4: mode: overwrite would replace the rows of one batch by the next: remove mode"),
    (KAFKA, "json}", "json}\nschedule: {on: files}", ":4: schedule.on: files needs a source of type files, not kafka"),
    (KAFKA, "columns: {id: BIGINT, t: STRING}", "columns: infer", ":1: columns: the columns of messages cannot be inferred: write them down"),
    (KAFKA, "t: STRING", "t: VARIANT", ":1: columns.t: json has no values of the type VARIANT: load the table from parquet, a query or a function"),
    (KAFKA, "json}", "json, rename: {x: u}}", ":3: source.rename: 'u' is not a column"),
    (KAFKA, "json}", "json, add: {t: file}}", ":3: source.add.t must be one of topic, partition, not 'file'"),
    (KAFKA, "json}", "json, add: {u: topic}}", ":3: source.add.u: 'u' is not a column"),
    (KAFKA, "format: json", "format: debezium-json, add: {id: topic}", ":3: source.add.id: is in the primary key: an event could not delete a row of another file"),
    (KAFKA, 'primary_key: id\nsource: {type: kafka, servers: "kafka.example:9092", topic: orders, format: json}', 'source: {type: kafka, servers: "a:1", topic: o, format: maxwell-json}', ":2: source.format: maxwell-json needs a primary_key: its events update and delete rows by their keys"),
    (LOOKUPS, "table: dim.planes", "table: dim.plane", ":6: source.lookup: dim.plane is not declared; did you mean dim.planes?"),
    (LOOKUPS, "table: dim.planes", "table: planes", ":7: source.lookup[0].table: must be <database>.<table>, not 'planes'"),
    (LOOKUPS, "on: {tail: id}", "on: {tail: model}", ":6: source.lookup: on gives model of dim.planes, and it must give each column of its primary key once: id"),
    (LOOKUPS, "on: {tail: id}", "on: {flight: id}", ":6: source.lookup: flight is BIGINT, and id of dim.planes is STRING: both must have the same type"),
    (LOOKUPS, "on: {tail: id}", "on: {model: id}", ":8: source.lookup[0].on.model: 'model' is looked up itself, by source.lookup[0]: name columns of the source"),
    (LOOKUPS, "on: {tail: id}", "on: {}", ":8: source.lookup[0].on must be a list with at least 1 entry, not an empty mapping"),
    (LOOKUPS, "columns: {model: model}", "columns: {modl: model}", ":9: source.lookup[0].columns.modl: 'modl' is not a column; did you mean model?"),
    (LOOKUPS, "columns: {model: model}", "columns: {model: modl}", ":6: source.lookup: 'modl' is not a column of dim.planes; did you mean model?"),
    (LOOKUPS, "columns: {model: model}", "columns: {model: weight}", ":6: source.lookup: model is STRING, and weight of dim.planes is DOUBLE: both must have the same type"),
    (LOOKUPS, "columns: {model: model}", "columns: {flight: model}", ":9: source.lookup[0].columns.flight: 'flight' cannot be looked up: it is in primary_key, which needs its value from the source"),
    (LOOKUPS, "missing: wait", "missing: later", ":10: source.lookup[0].missing must be one of null, reject, wait, not 'later'"),
    (LOOKUPS, "      max_wait: 2 d\n", "", ":7: source.lookup[0]: missing: wait needs max_wait, such as max_wait: 2 d"),
    (LOOKUPS, "max_wait: 2 d", "max_wait: '2'", ":11: source.lookup[0].max_wait: must be a duration with its unit, such as 2 d or 12 h, not '2'"),
    (LOOKUPS, "missing: wait", "missing: null", ":7: source.lookup[0]: max_wait needs missing: wait"),
    (LOOKUPS, "max_wait: 2 d", "max_wait: 2 d\n      refresh: true", ":12: unknown key source.lookup[0].refresh: written rows are not looked up again; to update them when the other table changes, fill these columns by a part with `source: {type: table, key_from: ...}` (known here: …)"),
    (LOOKUPS, "max_wait: 2 d", "max_wait: 2 d\n      cache_bytes: 5", ":12: source.lookup[0].cache_bytes must be 1.04858e+06 or more, not 5"),
    (LOOKUPS, "primary_key: flight", "primary_key: flight\noptions: {merge-engine: aggregation}", ":11: source.lookup[0].missing: wait does not fit merge-engine aggregation: a newer row of a key replaces a waiting row; use null or reject"),
    (LOOKUPS, "primary_key: flight", "primary_key: flight\noptions: {ignore-delete: 'true'}", ":11: source.lookup[0].missing: wait does not fit options.ignore-delete: a delete that the table ignores would remove a waiting row; use null or reject, or remove the option"),
    (LOOKUPS, "primary_key: flight", "primary_key: flight\noptions: {deduplicate.ignore-delete: 'true'}", ":11: source.lookup[0].missing: wait does not fit options.deduplicate.ignore-delete: a delete that the table ignores would remove a waiting row; use null or reject, or remove the option"),
    (LOOKUPS, "primary_key: flight", "primary_key: flight\nmode: overwrite", ":11: source.lookup[0].missing: wait does not fit mode overwrite: a load reads the replaced rows again"),
    (LOOKUPS, "{flight: BIGINT, tail: STRING, model: STRING}", "infer", ":1: columns: the columns of a table with lookups cannot be inferred: write them down"),
    (LOOKUPS, "    - table", "    - {table: dim.planes, on: {tail: id}, columns: {model: id}}\n    - table", ":10: source.lookup[1].columns.model: 'model' is looked up by source.lookup[0] too"),
    (LOOKUPS, "model: STRING}", "model: STRING, __load: INT}", ":10: source.lookup[0].missing: '__load' is a column of tables of waiting rows: give it another name"),
    (LOOKUPS, 'path: "flights/*.csv"', 'path: "flights/*.csv"\n  rename: {tail: x}', ":6: source.rename: 'x' is not a column"),
    (LOOKUPS, 'path: "flights/*.csv"\n', 'path: "flights/*.csv"\n  key_from: {}\n', ":6: unknown key source.key_from: only a source of type table has it, in a part of a wide table (known here: …)"),
    (PARTS, "    order_by: gate_at\n", "", ":10: parts.gates.order_by: is missing: name the columns that say which of two rows with the same key is newer; files may have `source.add: {column: file}`, and a query current_timestamp()"),
    (PARTS, "order_by: gate_at", "order_by: gate_up", ":13: parts.gates.order_by: 'gate_up' is not a column; did you mean gate?"),
    (PARTS, "columns: gate\n", "columns: [gate, delay]\n", ":16: parts.delays.columns: the part gates fills 'delay' too: a column belongs to one part"),
    (PARTS, "order_by: delay_at", "order_by: gate_at", ":17: parts.delays.order_by: the part gates fills 'gate_at' too: a column belongs to one part"),
    (PARTS, "columns: gate\n", "columns: [gate, id]\n", ":12: parts.gates.columns: 'id' is in the primary_key, which all parts have"),
    (PARTS, "columns: gate\n", "columns: gate_at\n", ":12: parts.gates.columns: has only the columns of order_by: a part fills at least one other column"),
    (PARTS, "columns: gate\n", "columns: [gate, gate]\n", ":12: parts.gates.columns: 'gate' occurs twice"),
    (PARTS, "  gate: STRING\n", "  gate: STRING\n  more: INT\n", ":5: columns.more: no part fills this column: add it to the columns of a part, or remove it"),
    (PARTS, "gate: STRING", "gate: STRING NOT NULL", ":4: columns.gate: must not be NOT NULL: a row is without it until its part comes"),
    (PARTS, "primary_key: [id, day]\n", "", ": a table needs a primary_key or a natural_key"),
    (PARTS, "partitions:", "source: {type: files, path: a.csv}\npartitions:", ":20: source: has no place beside parts: each part has a source, and the primary key is common"),
    (PARTS, "partitions:", "order_by: gate_at\npartitions:", ":20: order_by: has no place beside parts: each part has a source, and the primary key is common"),
    (PARTS, "partitions:", "options: {merge-engine: deduplicate}\npartitions:", ":20: options.merge-engine: deduplicate does not fit: a table with parts has partial-update"),
    (PARTS, "partitions:", "options: {fields.gate.sequence-group: delay}\npartitions:", ":20: options.fields.gate.sequence-group: must not be set for a table with parts: each part has order_by"),
    (PARTS, "partitions:", "options: {ignore-delete: true}\npartitions:", ":20: options.ignore-delete: must not be set for a table with parts: leave out kinds in a part whose deletes are ignored"),
    (PARTS, "partitions:", "options: {fields.delay.aggregate-function: sum}\npartitions:", ":20: options.fields.delay.aggregate-function: must not be set for a table with parts: a row that is loaded again would count twice"),
    (PARTS, "partitions:", "schedule: {on: files}\npartitions:", ":20: schedule.on: files needs one source of type files: set cron for a table with parts"),
    (PARTS, "partitions:", "partition_by: gate\npartitions:", ":20: partition_by: 'gate' is not in the primary_key: only one part could fill it"),
    (PARTS, "    kinds: {column: rowkind}\n", "", ":18: parts.delays.deletes: row has no effect: the part has no kinds, so none of its rows deletes"),
    (PARTS, "kinds: {column: rowkind}", "kinds: {column: gate}", ":18: parts.delays.kinds.column: 'gate' is a column that this part does not fill"),
    (PARTS, '{type: files, path: "gates/{date}.csv"}', '{type: postgres_changes, url: "postgresql://h/d", table: a.b}', ":13: parts.gates.order_by: must be one column of the type BIGINT, which loads fill with the position in the log: the log has no old values for rows that are deleted, so a column of the source cannot order them"),
    (PARTS, '{type: files, path: "gates/{date}.csv"}', '{type: files, path: "gates/{date}.csv", add: {delay: file}}', ":11: parts.gates.source.add: 'delay' is not a column of this part"),
    (PARTS, "gates/{date}.csv", "gates/*.csv", ":20: partitions: have no effect: no source of a part is divided by partitions"),
    (PARTS, "inputs: [d.delays]", "inputs: [d.delay]", ":15: parts.delays.source.inputs names d.delay, which is not declared; did you mean d.delays?"),
    (PARTS, "inputs: [d.delays]", "inputs: [d.wide]", ":15: the inputs form a cycle: d.wide <- d.wide"),
    (PARTS, "parts: gates}", "parts: gate}", ":22: checks[0].parts: 'gate' is not a part; did you mean gates?"),
    (PARTS, "parts: gates}", "parts: gates, column: gate_at}", ":22: checks[0].column: 'gate_at' is filled by the part gates, so it is null in rows that lack it"),
    (PARTS, "parts: gates}", "block: true}", ":22: checks[0].block: has no effect here: a load of one part cannot load the other parts; remove block"),
    (PARTS, "max_wait: 2 h", "max_wait: 2 weeks", ":22: checks[0].max_wait: must be a duration with its unit, such as 2 d or 12 h, not '2 weeks'"),
    (PARTS, "  gates:", "  the gates:", ":10: parts.the gates: the name of a part has letters, digits and underscores, and begins with a letter"),
    (CHANGES, "primary_key: id", "natural_key: id", ":3: source: a table with changes of PostgreSQL needs a primary_key, the key of its source"),
    (CHANGES, "table: s.o", "table: o", ":3: source: table must be schema.name, such as public.orders, not 'o'"),
    (CHANGES, "table: s.o", "table: s.o_*", ":3: source: table is one table, not the pattern 's.o_*', without source_column: declare a column of the primary key that gets the name of the table of each row, so that rows of two tables with equal keys do not meet"),
    (CHANGES, "table: s.o", "table: a.b.c", ":3: source: table must be schema.name, such as public.orders, not 'a.b.c'"),
    (CHANGES, "table: s.o", "table: .o", ":3: source: table must be schema.name, such as public.orders, not '.o'"),
    (CHANGES, ", table: s.o", "", ":3: source.table is missing"),
    (CHANGES, "postgresql://", "sqlite://", ":3: source.url: must be postgresql://...: changes are read from the log of PostgreSQL"),
    (CHANGES, "lake@", "lake:canary@", ":3: source.url contains a password: write the name of its variable, such as postgresql://user:${PASSWORD}@host/database"),
    (CHANGES, "s.o}", "s.o, slot: My-Slot}", ":3: source.slot: must be at most 63 of a-z, 0-9 and _, not 'My-Slot'"),
    (CHANGES, "s.o}", "s.o, parts: 2}", ":3: source: parts needs split, the column of whole numbers whose range is divided"),
    (CHANGES, "s.o}", "s.o, split: id, parts: 17}", ":3: source.parts must be 16 or less, not 17"),
    (CHANGES, "s.o}", "s.o, batch_rows: 0}", ":3: source.batch_rows must be 1 or more, not 0"),
    (CHANGES, "s.o}", "s.o, schema_changes: drop}", ":3: source.schema_changes must be one of refuse, ignore, apply, not 'drop'"),
    (CHANGES, "s.o}", "s.o, watermark: id}", ":3: unknown key source.watermark (known here: …)"),
    (CHANGES, "s.o}", "s.o, query: SELECT 1}", ":3: unknown key source.query (known here: …)"),
    (CHANGES, "source", "mode: append\nsource", ":3: mode: has no place here: the log of PostgreSQL says what is done, and in which order"),
    (CHANGES, "source", "kinds: {column: t}\nsource", ":3: kinds: has no place here: the log of PostgreSQL says what is done, and in which order"),
    (CHANGES, "source", "order_by: t\nsource", ":3: order_by: has no place here: the log of PostgreSQL says what is done, and in which order"),
    (CHANGES, "source", "partitions: dynamic\nsource", ":3: partitions: has no place here: the log of PostgreSQL says what is done, and in which order"),
    (CHANGES, "source", "options: {merge-engine: first-row}\nsource", ":3: options.merge-engine: must be deduplicate, as the table would differ from its source in PostgreSQL"),
    (CHANGES, "source", "options: {sequence.field: t}\nsource", ":3: options.sequence.field: must not be set, as the table would differ from its source in PostgreSQL"),
    (CHANGES, "source", "options: {changelog-producer: input}\nsource", ":3: options.changelog-producer: must be none, lookup, full-compaction, as the table would differ from its source in PostgreSQL"),
    (CHANGES, "source", "options: {deletion-vectors.enabled: true}\nsource", ":3: options.deletion-vectors.enabled: must be false, as the table would differ from its source in PostgreSQL"),
    (CHANGES, "source", "options: {ignore-delete: true}\nsource", ":3: options.ignore-delete: must be false, as the table would differ from its source in PostgreSQL"),
    (CHANGES, "source", "options: {bucket: -2}\nsource", ":3: options.bucket: must not be -2: loads read rows that would wait for a compaction"),
    (CHANGES, "source", "schedule: {on: files}\nsource", ":3: schedule.on: files needs a source of type files, not postgres_changes"),
    (CHANGES, "source", "schedule: {on: change}\nsource", ":3: schedule.on must be one of inputs, files, changes, not 'change'; did you mean changes?"),
    (CHANGES, "source", "schedule: {on: changes, cron: '@daily'}\nsource", ":3: schedule: a schedule needs either cron or on"),
    (CHANGES, "source", "schedule: {on: changes, timezone: UTC}\nsource", ":3: schedule.timezone: belongs to cron, and a schedule with on has none"),
    (CHANGES, "source", "checks: [{type: lag}]\nsource", ":3: checks[0]: a lag check needs max_bytes, max_seconds or max_slot_bytes, for kafka max_messages"),
    (CHANGES, "source", "checks: [{type: lag, max_messages: 5}]\nsource", ":3: checks[0].max_messages: is not known for a source of type postgres_changes"),
    (CHANGES, "source", "checks: [{type: lag, max_bytes: -1}]\nsource", ":3: checks[0].max_bytes must be 0 or more, not -1"),
    (CHANGES, "source", "checks: [{type: lag, max_seconds: .inf}]\nsource", ":3: checks[0].max_seconds must be a finite number, not inf"),
    (CHANGES, "source", "checks: [{type: lag, max_minutes: 1}]\nsource", ":3: unknown key checks[0].max_minutes; did you mean max_bytes? (known here: …)"),
    (CHANGES, "source", "checks: [{type: lag, max_seconds: 9, block: true}]\nsource", ":3: checks[0].block: has no place in a lag check: a load makes the lag smaller"),
    (CHANGES, "t: STRING", "t: VARIANT", ":1: columns.t: a database has no values of the type VARIANT: load the table from parquet, a query or a function"),
]  # fmt: skip
"""A declaration, what is replaced in it by what, and the place and the sentence of the error."""


@pytest.mark.parametrize(("declaration", "old", "new", "sentence"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_declaration(tmp_path: Path, declaration: tuple[str, str], old: str, new: str, sentence: str) -> None:
    name, text = declaration
    assert old in text
    assert refused(tmp_path / "lake", name, OTHERS | {name: text.replace(old, new, 1)}) == sentence


def test_the_declarations_without_a_mistake(tmp_path: Path) -> None:
    tables = dict((EVENTS, KAFKA, LOOKUPS, PARTS, CHANGES)) | OTHERS
    assert written_lake(tmp_path / "lake", tables).tables.keys() == tables.keys()
