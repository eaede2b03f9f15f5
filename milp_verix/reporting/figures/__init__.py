"""The parts of a figure of an explanation; ``reporting.plotting`` puts them together."""
