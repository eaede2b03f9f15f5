"""Enumeration: close a node by listing its sets and refuting each."""
