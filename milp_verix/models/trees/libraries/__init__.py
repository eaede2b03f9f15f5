"""The readers of trees: one file for each library."""
