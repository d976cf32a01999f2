"""Groups: several tables that publish one version together.

Import `Group`.

Core types:

- ``Group``: publishes and reads versions of several tables
- ``Intent``: a publish that is decided, with the messages of all tables
- ``GroupVersion``: a published version, with a snapshot of each table
- ``GroupStore``: reads and writes the records of a group
"""
