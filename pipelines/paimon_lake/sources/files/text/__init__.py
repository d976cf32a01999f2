"""Files of text: CSV and JSON, cut into blocks of whole records and converted column by column."""
