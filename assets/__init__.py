"""The Dagster definitions of the lake of this repository, and the demo; other lakes use the package paimon_dagster."""
