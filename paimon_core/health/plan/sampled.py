"""Sampled: the forecasts of chosen compactions of which nothing is known yet, corrected by keys that are read.

Only work that was chosen is looked at, so the keys that are read are a small part of the rows that will be rewritten.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from paimon_core.errors import PaimonError
from paimon_core.health.plan.candidates import COMPACT, Candidate
from paimon_core.health.plan.compactions import CompactionWork, with_domain
from paimon_core.health.plan.history import Place
from paimon_core.health.plan.measured import Measured
from paimon_core.health.plan.sampled_keys import sampled_domain
from paimon_core.health.plan.works import Work
from paimon_core.metadata.context import TableContext

BUCKETS = 100
"""The most buckets of a plan of which keys are read: the first that were chosen."""
_LOG = logging.getLogger(__name__)


def with_sampled_keys(
    contexts: Mapping[tuple[str, str], TableContext], chosen: Mapping[Candidate, Work], measured: Measured
) -> dict[Candidate, Work]:
    """Return better forecasts by candidate; candidates of which nothing new is known are left out.

    ``contexts``: by name and branch. A bucket whose keys cannot be read keeps its forecast, and this is logged.
    """
    found: dict[Candidate, Work] = {}
    unknown = [c for c in chosen if c.action == COMPACT and Place.of(c) not in measured.domains]
    for candidate in [c for c in unknown if chosen[c].task is not None][:BUCKETS]:
        work, context = chosen[candidate], contexts[candidate.table, candidate.branch]
        if work.task is None or work.before is None or not context.is_keyed:
            continue
        try:
            domain = sampled_domain(context, work.task)
        except PaimonError as error:
            _LOG.warning("the keys of table %s cannot be read for a forecast: %s", candidate.table, error)
            continue
        if domain is not None:
            known = CompactionWork(candidate, work.task, work.before, work.runs_after, work.written_factor)
            new = with_domain(context, known, domain, measured)
            found[candidate] = Work(new.candidate, new.task, new.before, new.runs_after, new.written_factor)
    return found
