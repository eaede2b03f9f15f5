"""Sessions in a process of their own."""
