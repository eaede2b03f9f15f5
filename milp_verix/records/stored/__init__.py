"""The parts of results as JSON: numbers, the subject, and the fields of each class."""
