"""One operator or ball as rows and columns; each docstring is the mathematics."""
