"""Spark steps of the data pipeline, independent of Dagster.

Core types:

- ``StepResult``: what a step did, as numbers before and after it
- ``CheckResult``: the result of an audit or a declared check
- ``TableOverview``: what ``paimon-lake show`` prints about a table
- ``PipelineError``: an error that the user of the lake can correct
"""
