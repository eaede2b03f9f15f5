"""A model as the user gives it: a file, bytes, or a model of another library in memory."""
