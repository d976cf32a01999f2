"""Checks of the history: snapshots, references, compactions and changelogs."""
