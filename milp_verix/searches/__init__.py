"""Searches: what asks the oracle many checks for one answer."""
