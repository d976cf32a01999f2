"""Which files a table uses, which ones an expiry may remove, and what protects the others (format 16.1, 16.6)."""
