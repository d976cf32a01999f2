"""Rules: checks of the keys, columns and options of new tables."""
