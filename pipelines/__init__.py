"""Spark steps of the data pipeline; knows no Dagster."""
