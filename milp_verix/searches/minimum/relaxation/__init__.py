"""The linear program of a node: bound, constraint pool, branching."""
