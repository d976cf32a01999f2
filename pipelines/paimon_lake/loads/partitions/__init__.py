"""The partitions of a load: ``rows_of`` finds the rows of a key, ``asked_keys`` the keys that a request names."""
