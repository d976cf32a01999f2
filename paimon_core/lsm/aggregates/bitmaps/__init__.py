"""Aggregate functions whose values are sketches or bitmaps, and the byte formats of the values (format 9.6).

Core types:

- ``Container``: the values of a bitmap that share their high 48 bits
- ``Union``: merges sketches and bitmaps
"""
