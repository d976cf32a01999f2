"""Every option of Paimon 1.4 to 2.1, one module per subject."""
