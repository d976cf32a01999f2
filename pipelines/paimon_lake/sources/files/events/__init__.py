"""Change events: read files and messages that describe changes of the rows of a table in a database.

Core types:

- ``Dialect``: the members of an event of Debezium, Canal or Maxwell that state the operation, the table and the rows
- ``Heads``: the operations and tables of events, as columns
- ``EventColumn``: the forms that the values of a column have in events, and their conversion
- ``EventReader``: reads a block of events as rows with kinds and rejects
"""
