"""Bounds of whole networks: forward, backward, by optimised slopes, for one region or many."""
