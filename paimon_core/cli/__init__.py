"""The command line `paimon-core`: one module per kind of command, and what they share.

Nothing imports from here.
"""
