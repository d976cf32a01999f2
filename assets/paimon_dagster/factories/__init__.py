"""Factories: the assets, jobs, schedules and checks of the declared tables.

Core functions:

- ``table_asset``: the asset that loads a declared table
- ``table_checks``: the checks of a table
- ``load_jobs``: the jobs that load tables; ``load_schedules`` starts them
- ``group_assets``: the assets that publish the tables of a group together; ``group_jobs`` load and publish
- ``compaction_jobs``: the jobs that compact tables
- ``by_hand_jobs``: jobs with config that a person starts for one table
- ``lake_health_asset``: the asset with the health of all tables
- ``nightly_job``: tags and then expires every table
"""
