"""Steps: what maintains the tables of a lake: apply, audit, compact, tag, expire, sweep, check and roll back."""
