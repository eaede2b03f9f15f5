"""Primal heuristics: incumbent, descent, round and swap."""
