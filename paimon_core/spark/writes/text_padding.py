"""Text padding: bounds the bytes of the batches that Spark sends to Python by their rows, also where rows have texts.

Nothing tells how long the texts of a DataFrame are before they are read, so a number of rows alone bounds no bytes. And
Spark's own bound in bytes measures the batch after every row. Here a row with long texts is followed by rows without
texts, one for each share of a batch that its texts have. So any ``padded_rows`` rows in succession have at most the
texts of a batch, and those of one row more. The tasks leave the padding out (``real_rows``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from paimon_core.spark.columns import column, quoted
from paimon_core.spark.writes.batch_settings import BATCH_BYTES, fixed_rows, is_fixed
from paimon_core.spark.writes.distribution import input_bytes

PADDING = "__paimon_padding"
"""The column that is true in the rows that are only padding."""
MOST_ROWS = 4_096
"""The most rows of a batch with texts: a larger batch saves nothing, and more rows have a smaller share of its bytes
each."""
LEAST_BYTES = 8 << 20
"""A DataFrame with fewer bytes of inputs is not padded: Spark analyzes two more steps, for 20 to 80 ms."""
_MOST_COLUMNS = 24
"""With 30 texts, Spark's code for a row is longer than the compiler of the JVM takes, and padding costs more than it
saves."""
_EMPTY: dict[type[t.DataType], str] = {t.StringType: "''", t.BinaryType: "X''"}


def padded_rows(schema: t.StructType) -> int | None:
    """Return the most rows of a batch of padded rows of these columns; None when such rows cannot be padded.

    They can, if all columns are texts, binary values and columns of fixed width, at most 24, and have names that Spark
    distinguishes.
    """
    names = {name.lower() for name in schema.names}
    if PADDING in names or not len(names) == len(schema) <= _MOST_COLUMNS:
        return None
    fixed = [f.dataType for f in schema.fields if is_fixed(f.dataType)]
    if len(fixed) + sum(map(_is_text, schema.fields)) < len(schema):
        return None
    return min(MOST_ROWS, fixed_rows(fixed))


def worthwhile_rows(df: DataFrame) -> int | None:
    """Return the most rows of a batch if the rows of ``df`` are to be padded; None: they cannot, or are too few."""
    return padded_rows(df.schema) if is_worth_padding(df) else None


def is_worth_padding(df: DataFrame) -> bool:
    """Whether the inputs of ``df`` have enough bytes, by Spark's optimizer, that padding costs less than it saves.

    False for an unknown size: most such rows are a batch of a stream, or a list.
    """
    return (input_bytes(df) or 0) >= LEAST_BYTES


def has_texts(schema: t.StructType, names: Collection[str]) -> bool:
    """Whether one of the columns ``names`` is a text or a binary value."""
    return any(_is_text(f) for f in schema.fields if f.name in names)


def padded(df: DataFrame) -> DataFrame:
    """Return the rows of ``df``, each followed by its padding, with one more column ``PADDING``.

    Padding has the values of its row, but empty texts. ``padded_rows`` must not be None.
    """
    rows = padded_rows(df.schema) or 1
    share = BATCH_BYTES // rows
    texts = {f.name: _EMPTY[type(f.dataType)] for f in df.schema.fields if _is_text(f)}
    size = " + ".join(["0L", *(f"coalesce(octet_length({quoted(name)}), 0)" for name in texts)])
    count = f"cast(least({rows}L, ({size}) div {share}L) as int)"
    more = f"if({size} < {share}L, array(false), concat(array(false), array_repeat(true, {count})))"
    marked = df.select("*", F.expr(f"explode({more})").alias(PADDING))
    return marked.select(*[_blank(f.name, texts) for f in df.schema.fields], PADDING)


def _blank(name: str, texts: dict[str, str]) -> Column:
    if name not in texts:
        return column(name)
    return F.expr(f"if({PADDING}, {texts[name]}, {quoted(name)})").alias(name)


def real_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of padded rows without the padding, and without its column."""
    for batch in batches:
        marks = batch.column(PADDING)
        rows = batch.drop_columns([PADDING])
        yield rows.filter(pc.invert(marks)) if marks.true_count else rows


def _is_text(field: t.StructField) -> bool:
    kind = field.dataType
    return type(kind) is t.BinaryType or kind == t.StringType()
