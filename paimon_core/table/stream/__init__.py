"""Streaming reads: ``TableStream`` and its position."""
