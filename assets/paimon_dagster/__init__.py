"""Paimon lakes in Dagster: a component, and the assets, checks, jobs, schedules and sensors of declared tables.

``PaimonLake`` is a component for projects of ``dg``, ``build_definitions`` returns the definitions of a lake for other
projects, and a subclass of ``PaimonTranslator`` changes names, groups, pools and automation.
"""

from paimon_dagster.component import PaimonLake
from paimon_dagster.lake import build_definitions
from paimon_dagster.translator import PaimonTranslator

__all__ = ["PaimonLake", "PaimonTranslator", "build_definitions"]
