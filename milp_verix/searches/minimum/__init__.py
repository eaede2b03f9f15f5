"""The minimum explanation: masters raise the lower bound, heuristics make the incumbent cheaper."""
