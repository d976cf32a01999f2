"""Dagster definitions that run the pipeline steps."""
