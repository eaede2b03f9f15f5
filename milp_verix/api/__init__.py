"""The question as a value that answers: a problem with all searches as its methods."""
