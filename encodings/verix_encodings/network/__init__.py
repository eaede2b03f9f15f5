"""The network as data, and its evaluation."""
