"""Bounds from duals, and certificates."""
