"""Enclosures of values and slopes."""
