"""The perturbation that a set of features does not survive: heuristic, then exact."""
