"""The kinds of nodes of a network: one file for each kind, with all that it knows of itself."""
