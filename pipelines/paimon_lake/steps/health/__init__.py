"""The health of the tables of a lake.

Core functions:

- ``doctor``: tells what a table costs more than it needs to, and mends it
- ``examine``: the health of a table, with pictures
- ``lake_health``: the health of all tables
- ``lake_metrics``: the measures of all tables as OpenMetrics text
"""
