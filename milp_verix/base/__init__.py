"""Errors, deadlines, tolerances, files, memory and numbers as texts: all rooms stand on them."""
