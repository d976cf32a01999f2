"""PostgreSQL as a source of changes: catalog, replication slots, and the messages of the plugin pgoutput.

Core types:

- ``Server``: a connection to the server from which changes are read
- ``SourceTable``: the columns, keys and replica identity of a table
- ``Position``: up to where the changes of a table are loaded, and from which server, slot and columns
- ``NetChanges``: the last change of each row in some whole transactions
- ``ChangeRows``: converts changes to rows of a table and rejects
"""
