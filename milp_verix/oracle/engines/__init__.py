"""Engines: ways to decide the margins of a check that bounds leave open."""
