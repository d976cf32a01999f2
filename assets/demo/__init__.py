"""The demo: runs the main job with Dagster in this process (``make demo``)."""
