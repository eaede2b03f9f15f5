"""The evaluation of the VeriX paper, made again by one command: ``python -m benchmarks.paper``."""
