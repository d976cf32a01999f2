"""What this repository runs itself: the definitions for ``dagster dev`` and the demo; the package is paimon_dagster."""
