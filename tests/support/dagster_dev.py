"""What tests that run ``dagster dev`` share."""

DAGSTER_DEV_ENDS = 150
"""Seconds until it ends after a signal: it waits for its web server and for its daemon, at most 60 seconds for each."""
