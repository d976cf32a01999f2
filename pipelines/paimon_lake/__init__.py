"""Spark steps of the data pipeline, independent of Dagster.

Core types:

- ``StepResult``: what a step did: the number of rows, the commits, and the files before and after the step
- ``CheckResult``: the result of an audit or a declared check
- ``TableOverview``: what ``paimon-lake show`` prints about a table
- ``PipelineError``: an error that the user of the lake can correct
"""
