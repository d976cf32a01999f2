"""The S3 server of tests/s3, for files that are listed and read there."""

from tests.s3.conftest import s3, s3_endpoint

__all__ = ["s3", "s3_endpoint"]
