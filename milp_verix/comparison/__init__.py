"""One question to many solvers, and whether their answers agree."""
