"""All fuzz targets, by name."""

from __future__ import annotations

from tests.fuzz import file_targets, index_targets, metadata_targets, text_targets
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {
    t.name: t for t in (*metadata_targets.TARGETS, *text_targets.TARGETS, *index_targets.TARGETS, *file_targets.TARGETS)
}
