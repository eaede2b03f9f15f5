"""Primal heuristics: the incumbent, proposals for a cheaper one, round and swap."""
