"""ORC: metadata and lengths of untrusted files, checked before Arrow reads them (format 7.9)."""
