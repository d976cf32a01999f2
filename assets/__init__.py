"""Dagster definitions over the pipeline steps."""
