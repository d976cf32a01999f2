"""A project of dg that existed before it had a lake."""
