"""Text files: CSV and JSON, cut into blocks of whole records and converted one column at a time.

Core types:

- ``Block``: whole lines or records of a file
- ``Records``: the bytes of records and the lines where they begin
- ``TextRules``: how texts become values
- ``JsonReader``: reads records of JSON
- ``SourceTimeFormat``: a ``date_format`` or ``timestamp_format``
"""
