"""Change events: reads files whose lines describe changes of the rows of a table in a database.

Core types:

- ``Dialect``: where an event of Debezium, Canal or Maxwell says what happened, to which table and to which rows
- ``Heads``: what events do, read as columns
- ``EventColumn``: the forms that the values of a column have in events, and their conversion
- ``EventReader``: reads a block of events as rows with kinds and rejects
"""
