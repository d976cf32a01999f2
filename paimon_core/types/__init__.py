"""Types: the data types of Paimon, and their forms in schema files, texts, Arrow and Spark (format 2.2).

One ``DataType`` describes a column. Its Arrow form is the type of the column in memory. The metadata of an Arrow or
Spark field contains the facts that Arrow or Spark types cannot express, so that every form can be converted back
without loss.

Core types and functions:

- ``DataType``: the type of a column
- ``TypeRoot``: the kind of a type
- ``Variant``: a value of type VARIANT
- ``from_arrow``: the type of an Arrow field
- ``parse_type``: parses a type of a schema file
- ``parse_text``: parses a type that a user writes
"""

from paimon_core.types.arrow_types import (
    Annotations,
    annotated_field,
    from_arrow,
    is_list,
    read_annotations,
)
from paimon_core.types.data_type import (
    BIGINT,
    BINARY_ROOTS,
    BYTES,
    FIXED_ROOTS,
    MAP_ROOTS,
    MAX_LENGTH,
    NESTED_ROOTS,
    NUMBER_ROOTS,
    STRING,
    STRING_ROOTS,
    STRUCT_ROOTS,
    TIMESTAMP_ROOTS,
    TINYINT,
    VARIANT,
    Child,
    DataType,
    TypeRoot,
    array_of,
    decimal,
    map_of,
    multiset_of,
    row_of,
)
from paimon_core.types.type_json import parse_type
from paimon_core.types.type_text import parse_columns

__all__ = [
    "BIGINT",
    "BINARY_ROOTS",
    "BYTES",
    "FIXED_ROOTS",
    "MAP_ROOTS",
    "MAX_LENGTH",
    "NESTED_ROOTS",
    "NUMBER_ROOTS",
    "STRING",
    "STRING_ROOTS",
    "STRUCT_ROOTS",
    "TIMESTAMP_ROOTS",
    "TINYINT",
    "VARIANT",
    "Annotations",
    "Child",
    "DataType",
    "TypeRoot",
    "annotated_field",
    "array_of",
    "decimal",
    "from_arrow",
    "is_list",
    "map_of",
    "multiset_of",
    "parse_columns",
    "parse_type",
    "read_annotations",
    "row_of",
]
