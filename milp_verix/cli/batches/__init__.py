"""The inputs and the progress of the command ``batch``."""
