"""Compressions: the values of option file.compression that each format supports, and their extensions in file names."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.errors import UnsupportedFeature

_COMMON = {"zstd": "zstd", "snappy": "snappy"}
_CODECS: Mapping[str, Mapping[str, str]] = {
    "parquet": {**_COMMON, "gzip": "gzip", "lz4": "lz4", "none": "none", "uncompressed": "none"},
    "orc": {**_COMMON, "gzip": "zlib", "zlib": "zlib", "lz4": "lz4", "none": "uncompressed"},
    "avro": {
        **_COMMON,
        "zstandard": "zstd",
        "gzip": "deflate",
        "deflate": "deflate",
        "bzip2": "bzip2",
        "none": "none",
        "null": "none",
    },
}
"""For each format: the value of the option, and the writer's name of the codec.

xz is not supported, because Java needs an optional library for this compression.
"""
_EXTENSIONS: Mapping[str, str | None] = {"none": None, "gzip": "gz", "bzip2": "bz2", "zstd": "zst"}


def codec_of(file_format: str, compression: str) -> str:
    """Return the writer's name of ``compression``; raises UnsupportedFeature if the format does not support it."""
    codec = _CODECS[file_format].get(compression)
    if codec is None:
        raise UnsupportedFeature(
            f"option file.compression: files in the format {file_format} cannot be compressed with {compression}",
            option="file.compression",
        )
    return codec


def extension_of(compression: str) -> str | None:
    """Return the part of a file name that states the compression, such as ``zst``; None for ``none``."""
    return _EXTENSIONS.get(compression, compression)
