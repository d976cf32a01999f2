"""Rejected rows: the tables ``<table>__rejects`` and what they record."""
