"""Structured Streaming: ``PaimonStreamReader`` reads changes, ``PaimonStreamWriter`` commits batches exactly once."""
