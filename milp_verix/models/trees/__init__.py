"""Trees of other libraries: boosted ensembles and forests, read from the libraries' own structures.

A reader of a library is a function in this folder from a fitted model, or from the path of its
file, to :class:`~milp_verix.models.trees.readers.ReadTrees`; a line in ``readers.py`` names it.
:class:`~milp_verix.models.trees.tree_network.TreeNetwork` is the model that questions are about:
the trees for proofs, and the library's own prediction for counterfactuals. Before a word is said,
both are compared at random points and at both sides of thresholds.
"""
