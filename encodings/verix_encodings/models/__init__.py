"""Whole programs made of blocks: a check, scenarios, a contrast, a cover."""
