"""What each public call does, what answers it, and what it returns: the rows of calls.

The rows of their options stand in ``milp_verix/problem/option_rows.py``; ``docs/write_calls.py``
writes the calls from both.
"""

# a row is read as one
# fmt: off
from dataclasses import dataclass

USUAL_ERRORS = """\
InputError: an argument does not fit.
ModelError: the network cannot be read or encoded.
SolverUnavailableError: the solver is not installed."""
"""The errors of a call that has none of its own; the docstring of ``explain`` alone has them."""


@dataclass(frozen=True)
class Call:
    """A method of ``Problem``, its name as a function, and the function that answers it.

    ``about`` is what its docstring says before the arguments; ``placed`` are the options that may
    be given by position.
    """

    method: str
    name: str
    answer: str
    result: str
    about: str
    errors: str = USUAL_ERRORS
    placed: tuple[str, ...] = ()


CALLS = (
    Call("explain", "explain", "searches.explain_search.explain_problem", "Explanation",
        """\
Find a locally minimal set of features that, when fixed, keeps the prediction at ``x``.

The VeriX method (Wu, Wu, Barrett, NeurIPS 2023, Algorithm 1): features are freed one by one in
a traversal order, each for good if the prediction provably survives. Ctrl-C and the time limit
return the sound explanation so far, with the features not yet decided in ``unknown``.""",
        """\
InputError: an argument does not fit; ``resume`` is about another question.
ModelError: the network cannot be read or encoded.
SolverUnavailableError: the solver is not installed."""),
    Call("minimum", "minimum", "searches.minimum.smallest.minimum_of", "Explanation",
        """\
Find an explanation with the fewest features, and prove that none has fewer.

There is always an answer: Ctrl-C and the time limit return the best explanation so far with its
proven ``lower_bound``; ``proven`` says whether the two meet. If time allows, the explanation is
locally minimal too, with a counterfactual for each feature.""",
        """\
InputError: an argument does not fit; ``resume`` is about another question.
ModelError: the network cannot be read or encoded.
SolverUnavailableError: the solver is not installed."""),
    Call("contrastive", "contrastive", "searches.contrastive.contrastive_of",
        "ContrastiveExplanation",
        """\
Find the fewest features whose change inside the ball changes the prediction.

The result has a counterfactual that differs from ``x`` in these features alone, and a proven
lower bound: Ctrl-C and the time limit return the best contrast so far with it. Of a described
input its values are near those of ``x``. ``robust`` says
that no change of any features does it, which is a proof as well.

``must_not`` lists features, by names or indices, that a counterfactual must not change, such as
an age; ``robust`` is then about changes of the other features.

Described features with a direction (``integer("age", 17, 90, only="up")``) change that way
alone; ``robust`` and the lower bound are about such changes.

With ``count`` the result has further changes in ``alternatives``, the least first: each is the
least among those that do not change all features of a set shown before, with a proven bound.

``minimise="distance"`` asks for the nearest counterfactual instead. Its distance is Gower's::

    Σ_f c_f Σ_{i ∈ f} |x'_i − x_i| / s_i,   s_i = min(ε_i, u_i − l_i)

over the features ``f`` with their coordinates ``i``: each change counts as a share of the
radius, or of the length of the domain where that is smaller. Whole numbers change by whole
steps, ordinal values by places, with the radius rounded down. A category counts ``c_f`` if it
changes, and nothing if not; so does a number that becomes missing, or a missing value that
becomes a number. ``result.distance`` has it. A prediction changes just beyond a tie, so a
result counts as proven within 0.1 % of its lower bound; ``result.gap`` is exact."""),
    Call("enumerate", "enumerate_explanations", "searches.importance_search.enumerate_problem",
        "Enumeration",
        """\
Find the minimal abductive and contrastive explanations of the prediction at ``x``.

There may be exponentially many: ``limit`` stops once so many were found, of both kinds
together; the time limit and Ctrl-C return those found so far. A set whose check is UNKNOWN
is listed on neither side, and the enumeration is then not complete."""),
    Call("inflate", "inflate", "searches.ranges.ranges_search.inflate_problem", "Ranges",
        """\
Find the widest ranges of an explanation's features that provably keep the prediction.

An inflated abductive explanation (Izza, Ignatiev, Stuckey, Marques-Silva, AAAI 2024): the
prediction stays with each kept feature anywhere in its range, all of them at once, and all
other features free as in the question. The ranges are maximal: one step beyond each, the others
as they are, there is a counterfactual. A step of a whole number is 1, of a category another
word, of a real number ``resolution``; those of trees end at their
thresholds, unless there are rules. Which of several maximal boxes is found depends on the order
in which ranges are widened: first the one that gains the most of the ``rows``, without rows the
widest. The norm must be L∞. Ctrl-C and the time limit return the ranges so far.""",
        """\
InputError: an argument does not fit; the features to keep are no explanation; a kept
    feature may move without end.
ModelError: the network cannot be read or encoded.
SolverUnavailableError: the solver is not installed.""", placed=("explanation",)),
    Call("check", "check", "searches.explain_search.check_problem", "Check",
        """\
Decide whether the prediction survives every perturbation of the features ``free``.

The claim: for every ``x'`` in ``domain`` that equals ``x`` outside ``free`` and has
``‖x' − x‖ ≤ epsilon`` in ``norm``, the predicted class is the same, or, if ``delta`` is given,
every output (or the one numbered ``output``) moves by at most ``delta``.""", placed=("free",)),
    Call("audit", "audit", "searches.audit_search.audit_of", "Audit",
        """\
Judge an explanation by any tool: is it sound, is it minimal, and if not, what would be.

Sound: with the features in ``explanation`` fixed, no change of the others in the ball changes
the prediction; this is proven, or refuted by an input run in onnxruntime. Of a sound set the
result has the features that can be left out, all together, and a counterfactual for each other
feature. To another set it adds features that make it sound, as few as the order finds. Ctrl-C
and the time limit return the result so far; "not known" is an answer, too. The check of
soundness may take half of a limited time.""", placed=("explanation",)),
    Call("relevance", "relevance", "searches.importance_search.relevance_of", "Relevance",
        """\
Decide whether a protected feature is necessary, relevant or irrelevant for the decision.

``feature`` is a name, an index, or several of these, which count as one feature: *necessary*
if every explanation of the prediction at ``x`` contains one of them, that is, if changing them
alone can change the prediction; *relevant* if some minimal explanation does; *irrelevant* if
none does. The result has the proof of a difference: two inputs that differ in these features
alone and are decided differently.

The number of checks may grow exponentially with that of the other features; at the time limit
and after Ctrl-C the answers proven by then come back, None for an open one.""",
        placed=("feature",)),
    Call("importance", "importance", "searches.importance_search.importance_of", "Importance",
        """\
Weigh the features of the prediction at ``x`` by a power index, with proven brackets.

A set of features is worth 1 if fixing it keeps the prediction, else 0. The index says how much
each feature has to do with that:

- ``"shapley"``: over all orders of the features, how often a feature turns a set into one that
  keeps the prediction (Shapley, Shubik); the values sum up to 1;
- ``"holler-packel"``: the share of minimal explanations that contain a feature, its formal
  feature attribution (Yu, Ignatiev, Stuckey, 2023);
- ``"deegan-packel"``: the same, with each explanation shared out among its features;
- ``"responsibility"``: 1 / k for a feature whose smallest minimal explanation has k features
  (Biradar, Izza, Lobo, Viswanathan, Zick, AAAI 2024).

The result has a bracket for each feature at any time: the time limit and Ctrl-C return the one
so far. Values are exact once all sets are decided, which takes seconds for some twenty features
and may take too long for many. ``result.under(index)`` has another index without a search."""),
    Call("radius", "robustness_radius", "searches.radius_search.radius_of", "RobustnessRadii",
        """\
Bracket the largest radius at which features are irrelevant together.

The radius is the supremum of all ``ε`` for which no change of the features ``free`` by at most
``ε`` in ``norm``, inside the domain, changes the prediction while all other features stay. With
all features free it is the robustness radius of the input. The bracket has a proof at its lower
end and a counterfactual at its upper end. Ctrl-C and the time limit return the bracket so far.

Of described ``inputs``, the radius ``ε`` stands for the radii ``ε · scale`` of the features.
Whole numbers and values of categories only move in steps, so the supremum is where the next
step comes within reach."""),
    Call("sweep", "epsilon_sweep", "searches.explain_search.sweep_of", "EpsilonSweep",
        """\
Find a locally minimal explanation at each of several radii, the largest first.

Features that are irrelevant together at a radius are irrelevant together at every smaller one,
so each radius begins with those of the radius before (Wu, Wu, Barrett, NeurIPS 2023, Figure 6).
Ctrl-C and the time limit return sound explanations at all radii; features not decided yet are
in ``unknown``. Radii share a time limit: each may take an equal part of the time that is left.
The radius of the problem itself is not used."""),
    Call("compare", "compare", "comparison.compare.compare_solvers", "Comparison",
        """\
Answer the same checks with each solver and formulation, or find the same explanation.

Every definite verdict of a run is compared with every counterfactual of the other runs, see
``milp_verix.comparison.contradictions``; contradictions are in ``disagreements``. A pair that
does not fit (the solver is not installed, or does not take the formulation) is in ``skipped``
with the reason. Ctrl-C ends the comparison with the runs finished by then.

``time_limit`` holds for all of it: the explanation that the checks come from, and each run
after it, gets an equal share of the time that is left.""",
        """\
InputError: an argument does not fit, or no pair does.
ModelError: the network cannot be read or encoded."""),
    Call("export", "encode_check", "oracle.check_program.encode_problem", "Encoding",
        """\
Return the program that :func:`milp_verix.check` solves for the features ``free``.

``encoding.input`` is ``x'``, flat, and ``encoding.output`` the margins, both as expressions in
the columns of ``encoding.program``. Classification: ``f_j(x') − f_c(x')`` for each class ``j``
but the predicted ``c``, ascending. Regression: ``f_k(x') − f_k(x) − delta`` for each output,
then ``f_k(x) − f_k(x') − delta``. The prediction survives where no margin can be above zero:

    >>> row, constant = encoding.output.row(0, encoding.program.columns)
    >>> encoding.program.write("check.lp", cost=-row)   # least cost = constant − most margin""",
        """\
InputError: an argument does not fit, or the network is undefined for some inputs of the
    ball, or leaves float64.
ModelError: the network cannot be read or encoded.""", placed=("free",)),
)
"""The methods of ``Problem``."""

RULES = Call("rules", "find_rules", "searches.ranges.ranges_search.rules_of_table", "Rules",
        """\
Find a few proven rules that cover the rows of a table.

Rows that no rule covers yet are drawn one after the other, explained, and inflated towards the
other rows of their class (:func:`milp_verix.inflate`). Out of all rules found, those are chosen
that add the most rows, greedily: a cover within a factor ``1 − 1/e`` of the best choice of as
many of these rules (Nemhauser, Wolsey, Fisher, 1978). Each rule is a proof about every input in
its ranges, not about the rows alone.

``options`` are the options of the question; ``epsilon=math.inf`` lets all features outside a
rule take any value.""",
        """\
InputError: an argument does not fit, or no row is an input of the question.
ModelError: the network cannot be read or encoded.""")
MANY = Call("many", "explain_many", "study.study_run.run_many", "Tally",
        """\
Explain many inputs, each with every setting of a grid, and write a journal of the results.

Each finished task appends one JSON object as a line to ``journal``. Tasks that it has a record
of are skipped, so a study that was killed goes on where it was. An input that fails becomes a
record with the status ``"failed"`` and the reason. Ctrl-C ends the study with what is there.
:func:`milp_verix.read_study` reads the journal as a table. Options are the same for all tasks
that take them.""",
        """\
InputError: an argument does not fit, or the journal cannot be written.
ModelError: the network cannot be read.
SolverUnavailableError: the solver is not installed.""")

NETWORK = """a model, the path of its file, or its bytes. An :class:`OnnxNetwork`, an ONNX file, an
``onnx.ModelProto``, or what else :func:`milp_verix.load_network` takes."""
X = """the input, an array or a row of a table. It has the network's input shape (dimensions of 1
may be left out) or is flat; for a network with a flat input also an image of one channel, or of
``image_shape``. A row is a DataFrame of one row, a Series, a mapping, a list of one mapping; see
:mod:`milp_verix.inputs.one_row`."""
XS = """an array with an input for each entry of its first axis, a sequence of arrays, or the path
of a ``.npy``, ``.npz`` (with ``:KEY`` behind it), ``.csv`` or ``.parquet`` file, a row for each
input. Values are taken as they are."""
ROWS = "inputs, as ``rows`` of :func:`milp_verix.inflate`."
LEAD = {
    "network": ("NetworkLike", NETWORK),
    "x": ("InputLike", X),
    "xs": ("Any", XS),
    "rows": ("Any", ROWS),
}
"""Type and meaning of the first arguments of calls."""

TYPES = {
    "Any": "typing",
    "Callable": "collections.abc",
    "Collection": "collections.abc",
    "Mapping": "collections.abc",
    "Sequence": "collections.abc",
    "Path": "pathlib",
    "ArrayLike": "numpy.typing",
    "BoundMethod": "verix_encodings",
    "Encoding": "verix_encodings",
    "Formulation": "verix_encodings",
    "Epsilon": "milp_verix.inputs.radii",
    "Feature": "milp_verix.inputs.feature",
    "Inputs": "milp_verix.inputs.inputs",
    "NetworkLike": "milp_verix.models.onnx.onnx_network",
    "Check": "milp_verix.results.answers",
    "Comparison": "milp_verix.results.comparison",
    "Pair": "milp_verix.results.comparison",
    "Rules": "milp_verix.results.answers",
    "Certifiable": "milp_verix.certificates.certify",
    "Certificate": "milp_verix.certificates.certificate",
    "Tally": "milp_verix.study.study_run",
    "CostsLike": "milp_verix.problem.features",
    "FeaturesLike": "milp_verix.problem.features",
    "Domain": "milp_verix.problem.ball",
    "ClassLike": "milp_verix.problem.search",
    "InputLike": "milp_verix.problem.search",
    "OrderLike": "milp_verix.problem.search",
    "FeatureSetLike": "milp_verix.searches.feature_sets",
    "Tolerances": "milp_verix.base.tolerances",
    "SearchLimits": "milp_verix.searches.minimum.search_limits",
    "Solver": "milp_verix.solvers",
    "EarlierContrast": "milp_verix.results.earlier",
    "EarlierImportance": "milp_verix.results.earlier",
    "EarlierComparison": "milp_verix.comparison.repeated",
    "EarlierResult": "milp_verix.results.earlier",
    "AuditProgress": "milp_verix.searches.audit_search",
    "ContrastiveProgress": "milp_verix.searches.contrast_search",
    "EnumerationProgress": "milp_verix.searches.importance_search",
    "MinimumProgress": "milp_verix.searches.minimum.minimum_search",
    "Progress": "milp_verix.searches.explain_search",
    "RadiusProgress": "milp_verix.searches.radius_search",
    "RangesProgress": "milp_verix.searches.ranges.ranges_search",
    "RelevanceProgress": "milp_verix.searches.importance_search",
    "Explanation": "milp_verix.results.explanation",
    "ContrastiveExplanation": "milp_verix.results.contrast",
    "Enumeration": "milp_verix.results.contrast",
    "Audit": "milp_verix.results.audit",
    "EpsilonSweep": "milp_verix.results.explanation",
    "RobustnessRadii": "milp_verix.results.ranges",
    "Importance": "milp_verix.results.importance",
    "Ranges": "milp_verix.results.ranges",
    "Relevance": "milp_verix.results.importance",
}
"""The modules of the types in signatures."""
