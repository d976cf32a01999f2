"""Aggregate functions: hll_sketch, theta_sketch, rbm32 and rbm64 (format 9.5)."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.lsm.aggregates.aggregate import Factory

FUNCTIONS: Mapping[str, Factory] = {}
