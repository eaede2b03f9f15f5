"""Our own branch and bound over ReLU phases, on one warm linear program."""
