"""The command line ``paimon-lake``."""
