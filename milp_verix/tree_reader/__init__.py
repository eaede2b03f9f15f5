"""Tree models of other libraries, read from their own structures, threshold by threshold.

One file for each library makes a :class:`~milp_verix.tree_reader.reading.Reading` of its models:
trees whose decisions are ``x[feature] <= threshold`` in float64, exactly as the library decides
them, the bound on the rounding of its sum, and the library's own prediction, which replays.
"""
