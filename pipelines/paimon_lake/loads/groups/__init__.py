"""Declared groups: ``publish_group`` publishes a version, ``left_versions`` finds versions of other groups."""
