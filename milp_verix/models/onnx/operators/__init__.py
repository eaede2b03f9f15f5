"""One function and one registry line for each operator."""
