"""Spark steps of the data pipeline, independent of Dagster.

Core types:

- ``StepResult``: the result of a step: the number of rows, the commits, and the files before and after the step
- ``CheckResult``: the result of an audit or a declared check
- ``TableOverview``: the values that ``paimon-lake show`` prints about a table
- ``PipelineError``: an error that the user of the lake can correct
"""
