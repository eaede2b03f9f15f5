"""Algorithm 1: orders, strategies, and the loop over the oracle."""
