"""Paimon lakes in Dagster: a component, and the assets, checks, jobs, schedules and sensors of declared tables.

``PaimonLake`` is a component for projects of ``dg``, ``build_definitions`` returns the definitions of a lake for other
projects, and a subclass of ``PaimonTranslator`` changes names, groups, pools and automation.

Core types and functions:

- ``PaimonLake``: a component of ``dg``: a folder of declarations becomes assets, checks, jobs and schedules
- ``PaimonTranslator``: the names, groups, pools and automation of the assets
- ``build_definitions``: returns the definitions of a lake
- ``LakeResource``: opens the settings and the tables of a lake in a run
- ``SparkResource``: the Spark session of a run
"""

from paimon_dagster.component import PaimonLake
from paimon_dagster.lake import build_definitions
from paimon_dagster.translator import PaimonTranslator

__all__ = ["PaimonLake", "PaimonTranslator", "build_definitions"]
