"""A checker of certificates, in exact arithmetic and without a solver.

A reader who trusts nothing else needs Python, its standard library and the package ``onnx``, which
parses files. The docstring of ``claim`` is the argument: begin there. Then read from the top; each
module imports none but those named after it, and has at most 200 lines.

1. ``command``: two files, the lines that are printed, an exit code.
2. ``verification``: the whole check of a certificate, in order.
3. ``minimum``: a lower bound on the cost of all explanations, and its argument.
4. ``claim``: the claim, and the trees of cases that prove it.
5. ``ball``: the inputs of a claim.
6. ``words``: the claim as it is printed.
7. ``guard``: the network that was read is compared with the evaluator of ``onnx``.
8. ``neurons``: the network of an ONNX file as a list of neurons.
9. ``signatures``: the operators that are read, with their defaults by version.
10. ``operators``, ``windows``, ``integers``: what these operators compute.
11. ``forms``: sums of numbers times variables.
12. ``numbers``: certificates as JSON has them, and their numbers.
13. ``shapes``: tensors, and the operators that move their entries.
"""
