"""Every option of Paimon 1.4 to 2.1: those that are obeyed in one module per subject, the others in a data file."""
