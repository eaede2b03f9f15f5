"""A checker of certificates, in exact arithmetic and without a solver.

A reader who trusts nothing else needs Python, its standard library and the package ``onnx``, which
parses files. The docstring of ``claim`` is the argument: begin there. Then read from the top; each
module imports none but those named after it, and has at most 200 lines.

1. ``command``: two files, the lines that are printed, an exit code.
2. ``verification``: the whole check of a certificate, in order.
3. ``sets``: claims about all sets of features at once.
4. ``minimum``: a lower bound on the cost of all explanations, and its argument.
5. ``trees``: ensembles of trees, and claims about them.
6. ``claim``: the claim, and the trees of cases that prove it.
7. ``claim_inputs``: the inputs of a claim.
8. ``words``: the claim as it is printed.
9. ``guard``: the network that was read is compared with the evaluator of ``onnx``.
10. ``neurons``: the network of an ONNX file as a list of neurons.
11. ``signatures``: the operators that are read, with their defaults by version.
12. ``operators``, ``windows``, ``integers``: what these operators compute.
13. ``forms``: sums of numbers times variables.
14. ``fields``: the fields of a certificate, and the type of each.
15. ``numbers``: certificates as JSON has them, and their numbers.
16. ``shapes``: tensors, and the operators that move their entries.
"""
