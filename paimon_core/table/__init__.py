"""`Table`, the object that users hold: reading, writing, tags, branches and maintenance of one table.

Methods check their arguments and call the layers below.
"""
