"""Figures of results: the parts of a figure, and a module for each kind of result."""
