"""Command line `paimon-core`: one module for each kind of command, and shared modules.

No other package imports this one.
"""
