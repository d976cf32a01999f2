"""Paimon lakes in Dagster: a component, and the assets, checks, jobs, schedules and sensors of declared tables.

``dg`` imports this package in every project whose environment contains it, even in a project that only uses
``paimon_core``. So the import must succeed without the packages of the extra ``dagster``. Without these packages, the
first use of a name raises ImportError, which says what to install.

Core types and functions:

- ``PaimonLake``: a component of ``dg``: a folder of declarations becomes assets, checks, jobs and schedules
- ``PaimonTranslator``: the names, groups, pools and automation of the assets
- ``build_definitions``: returns the definitions of a lake
- ``LakeResource``: opens the settings and the tables of a lake in a run
- ``SparkResource``: the Spark session of a run
"""

from typing import NoReturn

from paimon_lake.extras import missing_extra

try:
    from paimon_dagster.component import PaimonLake
    from paimon_dagster.lake import build_definitions
    from paimon_dagster.resources import LakeResource, SparkResource
    from paimon_dagster.translator import PaimonTranslator
except ModuleNotFoundError as error:
    _advice = missing_extra(error, "dagster")
    if _advice is None:
        raise

    def __getattr__(name: str) -> NoReturn:
        """Raise ImportError, which says what to install, for a name of this package."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        raise ImportError(f"{__name__}: {_advice}", name=__name__) from None


__all__ = ["LakeResource", "PaimonLake", "PaimonTranslator", "SparkResource", "build_definitions"]
