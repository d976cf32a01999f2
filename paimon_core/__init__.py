"""Apache Paimon tables in Python: Arrow in, files out."""
