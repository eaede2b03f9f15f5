"""The progress of the command ``batch``."""
