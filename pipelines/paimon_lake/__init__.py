"""Spark steps of the data pipeline, independent of Dagster."""
