"""Models that were loaded: networks of ReLUs in ONNX, trees of libraries."""
