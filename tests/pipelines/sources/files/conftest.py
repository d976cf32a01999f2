"""The S3 server of tests/object_stores, for files that are listed and read there."""

from tests.object_stores.conftest import s3, s3_endpoint

__all__ = ["s3", "s3_endpoint"]
