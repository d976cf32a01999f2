"""Sources: where the rows of declared tables come from."""
