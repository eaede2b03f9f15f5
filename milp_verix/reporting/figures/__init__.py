"""The parts of a figure of an explanation; :mod:`milp_verix.plotting` puts them together."""
