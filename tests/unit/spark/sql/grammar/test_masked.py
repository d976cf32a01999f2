"""Messages show the text around a position, without the secrets in it."""

import pytest

from paimon_core.errors import SqlError
from paimon_core.spark.sql.grammar.masked import masked
from paimon_core.spark.sql.grammar.parse import parse


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"('a' = 'b', 's3.secret-key' = 'x''\'y', c = 1)", "('a' = 'b', 's3.secret-key' = ********, c = 1)"),
        ("(s3.secret-key='x')", "(s3.secret-key=***)"),
        ("('a' 's3.secret-key' 'x')", "('a' 's3.secret-key' ***)"),
        ("(`access.key` = 'x y", "(`access.key` = ****"),
        ("compact(options => 'a=1,s3.secret-key=x')", "compact(options => 'a=1,s3.secret-key=*')"),
        ("(secret = x, b = c)", "(secret = *, b = c)"),
        ("SELECT token FROM t WHERE a = 'b'", "SELECT token FROM t WHERE a = 'b'"),
    ],
)
def test_values_of_options_that_name_a_secret_are_stars(text, shown):
    assert masked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT) TBLPROPERTIES ('s3.secret-key' = 'abcdef', 'x' 1)",
        "CREATE TABLE t (a INT) TBLPROPERTIES ('s3.secret-key' 'abcdef')",
        "CREATE TABLE t (a INT) TBLPROPERTIES ('s3.secret-key' = 'abcdef",
        "CALL sys.compact('t', options => 's3.secret-key=abcdef' +)",
    ],
)
def test_errors_show_no_secrets(text):
    with pytest.raises(SqlError) as error:
        parse(text)
    assert "abcdef" not in str(error.value)
