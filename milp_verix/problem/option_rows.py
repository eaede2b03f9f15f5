"""The table of options: what each public call takes beside a network and an input.

``docs/write_calls.py`` writes signatures and docstrings of the calls from these rows; a row has, in
this order, the option's name, its type and its default as the source spells them, the kind of
values that fit, the calls that take it, and what it means. Of an option that means something else
to another call there are several rows. Keys of study files are the names of rows, too; the options
of commands are in :mod:`milp_verix.cli.call_options`.
"""

# a row is read as one
# fmt: off
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from milp_verix.base.arguments import (
    ANYTHING,
    CLASS,
    FEATURE,
    FLAG,
    FUNCTION,
    GRID,
    INTEGER,
    METHOD,
    NAMES,
    NUMBER,
    NUMBER_OR_TEXT,
    PATH,
    SECONDS,
    SEVERAL,
    SOLVER,
    SOLVERS,
    TEXT,
    TEXTS,
    Kind,
    accepted,
    instance_of,
)
from milp_verix.inputs.inputs import Inputs
from milp_verix.solvers import OWN_ENGINES, SOLVERS as PROGRAM_SOLVERS
from verix_encodings import FORMULATIONS

_NAMES = (*PROGRAM_SOLVERS, *OWN_ENGINES)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'``"{name}"``' for name in names)


REQUIRED = ""
"""The default of an option that must be given."""


SEARCHING = "The search"
"""The section of a command's help on how an answer is looked for."""


@dataclass(frozen=True, slots=True)
class Line:
    """An option on the command line: its value is called ``metavar``, and read as ``reads`` says.

    :mod:`milp_verix.cli.call_options` has the types and readers that ``reads`` names.
    ``section`` is that of a command's help; ``flag`` is its name where it has another one.
    """

    metavar: str
    help: str
    reads: str = "text"
    section: str = "The question"
    flag: str | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """A row of the table: an option of the ``calls`` that take it, and of their commands."""

    name: str
    type: str
    default: str
    fits: Kind
    calls: tuple[str, ...]
    text: str
    line: Line | None = None


ONE_INPUT = (
    "explain", "minimum", "contrastive", "enumerate", "inflate", "check", "audit", "relevance",
    "importance", "radius", "sweep", "compare", "export",
)
"""The methods of ``Problem`` that answer a question; ``"rules"`` and ``"many"`` are the functions
``find_rules`` and ``explain_many``."""

_CALLS = (*ONE_INPUT, "rules", "many")


def _but(*without: str) -> tuple[str, ...]:
    return tuple(one for one in _CALLS if one not in without)


_BALL = _but("radius", "sweep", "many")
_TIMED = _but("export", "rules", "many")
_LIMITED = _but("export", "rules")
_SOLVING = _but("export", "rules", "compare")
_TRAVERSING = ("explain", "audit", "sweep", "compare", "many")
_SEEDED = ("inflate", *_TRAVERSING)
_ENCODED = ("explain", "inflate", "check", "audit", "radius", "sweep", "export", "many")
_BOUNDED = (*_ENCODED, "compare")
_LIMITS = Kind("a milp_verix.SearchLimits", lambda value: hasattr(value, "without")).or_none()
_SEARCH = Kind("a milp_verix.Search", lambda value: hasattr(value, "require_only"))

_DESCRIBED = Line("FILE",
    """A .json or .toml description of the input: names, domains, whole numbers,
    categories, rules. --epsilon may be inf, 10% of ranges or 0.5sd then, and INPUT a
    .json file of values by name, or a row of a table, such as table.csv:0 for the
    first.""", "path")

_ORDER = Line("auto|influence|boundary_influence|total_influence|adaptive|sensitivity|bound|"
    "bound_crown|margin|random|sequential|FILE",
    "Traversal order; FILE is a .npy or .json list of all features.", "order", SEARCHING)
_TRANSFORMATION = Line("reversal|deletion", "For the order sensitivity.", "text", SEARCHING)
_TRAVERSAL = Line("galloping|sequential|binary|quickxplain", "Which checks are made.", "text",
    SEARCHING)
_COSTS = Line("FILE",
    """What each feature costs, .npy or .json, there also by name, '*' for others. [1 each]""",
    "numbers")
_RESUME = Line("RESULT.json",
    """Go on from this earlier result of the same question, such as one that --json saved.""",
    "path", SEARCHING)

QUESTION: tuple[Option, ...] = (  # what a question is about
    Option("epsilon", "Epsilon", REQUIRED, ANYTHING, _BALL,
        """radius of the ball, in the units of the input. Or a radius for each feature by name; for
        described ``inputs`` also a share of each feature's range, ``"10%"``, standard deviations,
        ``"0.5sd"``, or ``math.inf`` for the whole domain, see :mod:`milp_verix.inputs.radii`.""",
        Line("NUMBER",
            """Radius of the ball, in the units of the network's input; fractions are allowed, such
            as 8/255. Or a file, .npy or .json, with a radius for each coordinate or by name. Only a
            message needs none: each of its words may go.""", "radius")),
    Option("epsilon", "Epsilon | Sequence[Epsilon]", REQUIRED, ANYTHING, ("many",),
        """one radius or several, in the units of the inputs."""),
    Option("norm", "str", '"linf"', TEXT, _CALLS,
        """``"linf"``, ``"l1"`` or ``"l2"``, over all coordinates freed together.""",
        Line("linf|l1|l2", "Norm of the ball.")),
    Option("delta", "float | None", "None", NUMBER.or_none(), _CALLS,
        """for regression, the change of an output that counts, in the output's units.""",
        Line("NUMBER",
            """Regression: the change of an output that counts. [classification]""", "number")),
    Option("domain", "Domain", "UNIT_DOMAIN", ANYTHING, _CALLS,
        """lower and upper end of the input domain. Scalars or arrays of the input's shape, or by
        the names of the coordinates; also a DataFrame with both ends as its rows.""",
        Line("LO HI", "Ends of the input domain; inf and -inf are allowed.", "ends")),
    Option("features", "FeaturesLike", "None", ANYTHING, _CALLS,
        """what is freed together, each coordinate by default. Or ``"pixels"`` (a pixel with its
        channels), an integer array of the input's shape (group numbers), or lists of flat
        coordinates.""",
        Line("pixels|FILE",
            """What is freed together: a pixel with its channels, or groups from a file, .npy (a
            group number for each coordinate) or .json (lists of coordinates). [each
            coordinate]""", "groups")),
    Option("feature_names", "Sequence[str] | None", "None", ANYTHING, _CALLS,
        """the features' names, a text for each: in summaries and pictures, and wherever an argument
        takes features.""",
        Line("FILE",
            """What to call the features: a list of texts, .json, .npy or .npz:KEY.
            [numbers]""", "names")),
    Option("label", "ClassLike | None", "None", CLASS.or_none(), _CALLS,
        """the class explained, by number or name; it must be the predicted one.""",
        Line("CLASS",
            """The class explained, by number or name; it must be the one predicted.""",
            "class")),
    Option("against", "ClassLike | Sequence[ClassLike] | None", "None", FEATURE.or_none(), _CALLS,
        """the classes that must not overtake the predicted one; by number or name, all others by
        default.""",
        Line("CLASS[,CLASS…]",
            """The classes, by numbers or names, that must not overtake the predicted one. [all
            others]""", "words")),
    Option("output", "int | None", "None", ANYTHING, _CALLS,
        """the output that a regression is about; all of them by default.""",
        Line("N", "Regression: the one output explained. [all]", "integer")),
    Option("image_shape", "Sequence[int] | None", "None", ANYTHING, _CALLS,
        """the shape in which a flat input is an image: ``(height, width)``, ``(height, width,
        channels)`` or ``(channels, height, width)``. ``features="pixels"``, ``x`` and figures
        follow it.""",
        Line("H,W[,C]",
            """How a flat input is an image, such as 28,28 or 32,32,3, or 3,32,32 where channels
            come first. Pixels, pictures and plots follow it.""", "shape")),
    Option("inputs", "Inputs | Sequence[Feature] | None", "None", ANYTHING, _but("many"),
        """a description of the input, :class:`milp_verix.Inputs` or its features:
        domains, whole numbers, categories, and rules between features. ``x`` may then be a mapping
        from their names to values.""",
        _DESCRIBED),
    Option("inputs", "Inputs | Sequence[Feature] | None",
        "None", instance_of(Inputs, str, Path).or_none(), ("many",),
        """the description of the inputs, :class:`milp_verix.Inputs` or its file. A table, a pandas
        DataFrame too, then has a column for each feature, with numbers or words, and ``epsilon``
        may be ``inf``, ``"10%"`` of ranges or ``"0.5sd"``.""",
        _DESCRIBED),
)

SEARCH: tuple[Option, ...] = (  # how an answer is looked for
    Option("solver", "str | Solver", '"auto"', SOLVER, _SOLVING,
        f"""the solver's name, or an object. Names are ``"auto"``, {_quoted(_NAMES)},
        ``"pulp:NAME"`` and ``"pyomo:NAME"``; see ``docs/solvers.md``.""",
        Line("|".join(("auto", *_NAMES)),
            """Solver of the programs; also pulp:NAME and pyomo:NAME.""")),
    Option("exactness", "str", '"exact"', TEXT, _TRAVERSING,
        """``"exact"``; or, faster and still sound, with features left undecided: ``"relaxation"``
        (linear relaxations only) or ``"bounds"`` (no program at all).""",
        Line("exact|relaxation|bounds",
            """How far a check goes; all but exact leave features undecided.""")),
    Option("time_limit", "float | None", "None", SECONDS, _TIMED,
        """seconds from the call on, orders and bounds included; None for no limit. Work that cannot
        be cut short, such as reading the network, may end a little later.""",
        Line("SECONDS", "Seconds for the search. [none]", "seconds")),
    Option("time_limit", "float | None", "None", SECONDS, ("many",),
        """the most seconds for each task; None for no limit.""",
        Line("SECONDS", "Seconds for each task. [none]", "seconds")),
    Option("time_limit", "float | None", "None", SECONDS, ("rules",),
        """seconds; the rules found by then are returned."""),
    Option("check_time_limit", "float | None", "None", SECONDS, _LIMITED,
        """the most seconds for each check. By default ``time_limit`` is the only limit, or the work
        of 300 seconds where there is none; ``math.inf`` for no limit. Each check gets a small slice
        of the work first, and more once the other features are decided. Seconds choose nothing:
        results without a limit, and with one that is not reached, are the same on any machine,
        however busy (``docs/solvers.md``).""",
        Line("SECONDS",
            """Seconds for each check. [the search's, or 300 if it has none]""", "seconds")),
    Option("memory", "float | str | None", "None", NUMBER_OR_TEXT.or_none(), (*_LIMITED, "rules"),
        """bytes that the process may hold, or a text such as ``"2 GB"``; None for no limit. A check
        that goes beyond is left undecided, and a search that begins there ends. It is looked at
        where time is, so one batch of work, or one program, may go beyond.""",
        Line("SIZE", "Memory that the process may hold, such as 2GB. [no limit]")),
    Option("seed", "int", "0", ANYTHING, _SEEDED,
        """seed of the order ``"random"``.""",
        Line("N", "Seed of the order random.", "natural")),
    Option("threads", "int", "1", ANYTHING, _LIMITED,
        """threads that the solver may use, if it can use several: HiGHS, Gurobi and CBC do. With
        more than one, runs by CBC may differ.""",
        Line("N", "Threads that the solver may use.", "positive")),
    Option("bounds", "BoundMethod | str", '"auto"', METHOD, _BOUNDED,
        """how bounds on the neurons are found: ``"interval"``, ``"crown"``, ``"alpha"`` (CROWN with
        optimised slopes), ``"branched"`` (these, then trees of phases), ``"lp"`` or ``"milp"``, or
        a function. ``"auto"`` begins with CROWN, and goes on to slopes and trees for checks that
        take long.""",
        Line("interval|crown|alpha|branched|lp|milp|auto",
            """How neurons are bounded: each tighter and slower than the one before.""")),
    Option("segments", "int", "6", ANYTHING, _BOUNDED,
        """number of pieces that enclose each smooth activation, 1 to 1,000: more
        pieces decide more checks, and take longer.""",
        Line("N", "Pieces that enclose each smooth activation.", "positive")),
    Option("formulation", "str | Formulation", '"big_m"', ANYTHING, _ENCODED,
        f"""how ReLUs become rows and columns: {_quoted(FORMULATIONS)} or ``"partition:N"``; not
        every solver takes each.""",
        Line("|".join((*FORMULATIONS, "partition:N")),
            """How ReLUs become rows and columns; not every solver takes every one.""")),
    Option("warm", "str", '"auto"', TEXT, _LIMITED,
        """what a solver keeps from one program to the next: ``"rebuilt"`` (nothing), ``"in_place"``
        (one program over the whole ball, or of all scenarios, whose numbers change), ``"start"``
        (the same, from the worst input known, or the best explanation), or ``"auto"``, which
        measurements prefer for each solver (``docs/warm_starts.md``).""",
        Line("auto|rebuilt|in_place|start", "What the solver keeps from one program to the next.")),
    Option("reuse", "bool", "True", FLAG, _TRAVERSING,
        """whether a check uses points and bounds of earlier checks; without it, the same
        explanation takes longer."""),
    Option("tolerances", "Tolerances", "USUAL.tolerances", ANYTHING, _LIMITED,
        """the distances that separate a proof from noise."""),
)

OWN: tuple[Option, ...] = (  # what one call, or a few, take beside the question and the search
    Option("order", "OrderLike", '"auto"', ANYTHING, ("explain", "many"),
        """``"auto"``, ``"influence"``, ``"boundary_influence"``, ``"total_influence"``,
        ``"adaptive"``, ``"sensitivity"``, ``"bound"``, ``"bound_crown"``, ``"margin"``,
        ``"random"``, ``"sequential"``, or a list of all features; see
        :mod:`milp_verix.searches.order`. ``"auto"`` is ``"influence"``; where many neurons are
        undecided, it is that of the first three by which bounds free the most features. An order
        whose bounds do not exist is replaced by the sequential one, with a note.""", _ORDER),
    Option("transformation", "str", '"reversal"', TEXT, ("explain", "many"),
        """``"reversal"`` or ``"deletion"``, for the order ``"sensitivity"``.""", _TRANSFORMATION),
    Option("traversal", "str", '"galloping"', TEXT, ("explain", "many"),
        """``"galloping"``, ``"sequential"``, ``"binary"`` or ``"quickxplain"``: which checks are
        made; the explanation is the same, see
        :mod:`milp_verix.searches.strategies`.""", _TRAVERSAL),
    Option("costs", "CostsLike", "None", ANYTHING, ("minimum", "many"),
        """a finite number of at least zero for each feature, 1 each by default: the explanation
        with the least sum is found. Proofs are faster where all costs are whole multiples of a
        unit. ``InputError`` for costs too far apart to be added up exactly: the largest may be a
        million times the smallest above zero, or whole costs a billion units together. A mapping
        from names or indices of features has one for each, or ``"*"`` for the others.""", _COSTS),
    Option("must", "str | Sequence[str | int]", "()", NAMES, ("minimum", "many"),
        """features that the explanation must contain, by names or indices. A feature among them
        that is not needed is listed in ``unknown``.""",
        Line("I,J,…|FILE", """Features, by numbers or names, that must be explained; FILE is
            a .npy or .json list or mask.""", "features")),
    Option("must_not", "str | Sequence[str | int]", "()", NAMES, ("minimum", "many"),
        """features that it must not contain; ``InputError`` if these alone can change the
        prediction.""",
        Line("I,J,…|FILE", "Features that must not be explained.", "features")),
    Option("gap", "float", "0.0", NUMBER, ("minimum", "many"),
        """stop once ``(cost − lower bound) / cost`` is at most this.""",
        Line("NUMBER",
            """Stop once the explanation is that close: 0.03 for 3 %.""", "number", SEARCHING)),
    Option("at_most", "float | None", "None", NUMBER.or_none(), ("minimum",),
        """decide whether an explanation costs at most this, and stop there: ``reachable`` of the
        result is True, with such an explanation, False, with a proof, or None.""",
        Line("NUMBER",
            """Stop once an explanation costs at most this, or none can.""", "number", SEARCHING)),
    Option("method", "str", '"scenarios"', TEXT, ("minimum", "many"),
        """``"scenarios"``, or ``"hitting_sets"``, an independent method to cross-check it, far
        slower on networks with more than a dozen features. Trees, and inputs with whole numbers or
        rules, are answered by hitting sets in any case.""",
        Line("scenarios|hitting_sets", "What proves the lower bound.", "text", SEARCHING)),
    Option("master", "str", '"auto"', TEXT, ("minimum", "many"),
        """for scenarios, ``"tree"`` searches the relaxation by branch and bound over phases and
        features on one warm linear program of HiGHS, ``"program"`` gives it to ``solver`` as a
        mixed-integer program; ``"auto"`` takes the tree if ``solver`` is HiGHS-based.""",
        Line("auto|tree|program", "What solves the scenarios.", "text", SEARCHING)),
    Option("limits", "SearchLimits | None", "None", _LIMITS, ("minimum", "many"),
        """a :class:`~milp_verix.SearchLimits`, which divides time and work among techniques and may
        switch some off."""),
    Option("costs", "CostsLike", "None", ANYTHING, ("contrastive",),
        """a positive number ``c_f`` for each feature: the cheapest set is sought instead of the
        smallest, or the distance is weighed. A mapping is as for :func:`milp_verix.minimum`.""",
        _COSTS),
    Option("must_not", "str | Sequence[str | int]", "()", NAMES, ("contrastive",),
        """features that a counterfactual must not change, by names or indices.""",
        Line("I,J,…|FILE", """Features, by numbers or names, that must not change; FILE is
            a .npy or .json list or mask.""", "features")),
    Option("minimise", "str", '"features"', TEXT, ("contrastive", "many"),
        """``"features"`` or ``"distance"``.""",
        Line("features|distance",
            """The number of features that change, or the distance: each change as a share of the
            radius, or of the domain where that is smaller.""")),
    Option("count", "int", "1", INTEGER, ("contrastive",),
        """number of changes to find, the first one included.""",
        Line("N",
            """Changes to find, each without the sets of features of those before.""",
            "positive", SEARCHING)),
    Option("limit", "int | None", "None", ANYTHING, ("enumerate",),
        """the most explanations, of both kinds together; None for all.""",
        Line("N", "Explanations of both kinds together. [all]", "positive")),
    Option("explanation", "FeatureSetLike | None", "None", ANYTHING, ("inflate",),
        """the features to keep, as for :func:`milp_verix.audit`; by default those of
        :func:`milp_verix.explain`.""",
        Line("I,J,…|FILE",
            """The features to keep, as for audit; by default those that explain finds.""",
            "set")),
    Option("rows", "Any", "None", ANYTHING, ("inflate",),
        """inputs that are worth covering, and whose share in the ranges is counted: an array with
        an input in each row, a DataFrame or a list of mappings, by the names of columns.""",
        Line("FILE", "Inputs worth covering, and counted: a .npy or .npz file, or a table.")),
    Option("within", "Epsilon", "math.inf", ANYTHING, ("inflate",),
        """how far kept features may move at most, as ``epsilon`` is given; by default over their
        whole domain.""",
        Line("NUMBER|SHARE", "The farthest that kept features may move. [the domain]", "radius")),
    Option("resolution", "float", "0.01", NUMBER, ("inflate",),
        """how near to the end of a real range a counterfactual must be, as a share of the feature's
        headroom.""",
        Line("NUMBER",
            """Width of the brackets of real ends, as a share of the feature's headroom.""",
            "number", SEARCHING)),
    Option("free", "Sequence[int | str]", REQUIRED, ANYTHING, ("check",),
        """the features that may change, by indices or names, or a mask; see ``features``."""),
    Option("explanation", "FeatureSetLike", REQUIRED, ANYTHING, ("audit",),
        """the features that are said to keep the prediction: their indices or names; a mask, an
        array or list of bool or of 0.0 and 1.0 (of 0 and 1 with two axes or more) with an entry for
        each coordinate, each pixel or each feature; or an :class:`Explanation`, whose groups
        :func:`milp_verix.audit` takes if ``features`` is None.""",
        Line("I,J,…|FILE",
            """The explanation: features by numbers or names, a list or a mask of the input or its
            pixels (.json or .npy), or a result that explain --json wrote.""", "set")),
    Option("sound_only", "bool", "False", FLAG, ("audit",),
        """whether to end once soundness is decided.""",
        Line("", "End once soundness is decided.", "flag")),
    Option("minimum", "bool", "False", FLAG, ("audit",),
        """whether to search the smallest sound set of all, too, and, for a set that is not sound,
        the smallest one that holds it (:func:`milp_verix.minimum`).""",
        Line("", "Search the smallest sound set, too.", "flag")),
    Option("feature", "str | int | Sequence[str | int]", REQUIRED, FEATURE, ("relevance",),
        """the protected feature, or several, by names or indices.""",
        Line("NAME[,NAME…]|FILE",
            """The protected features, by name or number; several count as one. FILE is a .npy or
            .json list or mask.""", "features", flag="protected")),
    Option("index", "str", '"shapley"', TEXT, ("importance",),
        """``"shapley"``, ``"holler-packel"``, ``"deegan-packel"`` or ``"responsibility"``.""",
        Line("shapley|holler-packel|deegan-packel|responsibility", "The power index.")),
    Option("beside", "ArrayLike | None", "None", SEVERAL.or_none(), ("importance",),
        """a score of each feature by another tool, such as a SHAP value, in their order or by name;
        scores of coordinates add up in their feature. ``result.misordered`` has the pairs of
        features that the size of these scores orders otherwise than is proven of the index.""",
        Line("FILE",
            """A score of each feature by another tool, such as SHAP values, .npy or .json: tells
            the pairs of features that it orders otherwise than proven.""", "numbers")),
    Option("free", "Sequence[int | str] | None", "None", ANYTHING, ("radius",),
        """the features that change together, by indices or names; all of them by default.""",
        Line("all|NAME[,NAME…]|FILE",
            """Features that change together; FILE is a .npy or .json list or mask.""", "free")),
    Option("each", "bool", "False", FLAG, ("radius",),
        """whether to bracket the radius of each feature alone instead.""",
        Line("", "Bracket the radius of each feature alone.", "flag")),
    Option("largest", "float | None", "None", NUMBER.or_none(), ("radius",),
        """the largest radius to ask about, in the units of the input; by default that of the
        domain. An unlimited domain needs it.""",
        Line("NUMBER", "The largest radius to ask about. [the domain's]", "number")),
    Option("tolerance", "float", "0.01", NUMBER, ("radius",),
        """the width that a bracket is to have, as a share of its upper end.""",
        Line("NUMBER",
            """Width of a bracket as a share of its upper end: 0.01 for 1 %.""", "number",
            SEARCHING)),
    Option("scale", "Epsilon", "1.0", ANYTHING, ("radius",),
        """of described inputs, the radius of each feature at the radius 1, given as ``epsilon`` is
        for :func:`milp_verix.explain`: 1 for a radius in each feature's unit, ``"100%"`` for a
        share of each range, radii by name for a factor of these.""",
        Line("NUMBER|SHARE",
            """With --inputs, the unit of radii: 1 is each feature's own, 100% its range.""",
            "radius")),
    Option("epsilons", "Epsilon | Sequence[Epsilon]", REQUIRED, ANYTHING, ("sweep",),
        """different radii in any sequence, in the units of the input. Of described ``inputs``, each
        is a number, a share of each feature's range such as ``"10%"``, or radii by name; of any
        two, one is at least as large for every feature.""",
        Line("E,E,…",
            """Radii, such as 1,0.1,0.05 or 8/255,1/255, or files of radii; with --inputs also
            1%,10%,inf.""",
            "radii")),
    Option("nested", "bool", "True", FLAG, ("sweep",),
        """whether a radius begins with the irrelevant features of the radius before; if not, each
        explanation is that of :func:`milp_verix.explain`.""",
        Line("",
            """Explain each radius by itself, so that the sets are not nested.""", "not",
            flag="alone")),
    Option("solvers", "str | Sequence[str] | None", "None", SOLVERS.or_none(), ("compare", "many"),
        f"""their names, or one, of {_quoted(_NAMES)}, ``"pulp:NAME"`` or ``"pyomo:NAME"``; by
        default all that are installed.""",
        Line(",".join(_NAMES),
            """With commas between. [all installed]""", "list", SEARCHING)),
    Option("formulations", "str | Sequence[str]", '("big_m",)', TEXTS, ("compare", "many"),
        """their names, such as ``"big_m"`` or ``"partition:4"``.""",
        Line(",".join((*FORMULATIONS, "partition:N")),
            """With commas between.""", "list", SEARCHING)),
    Option("task", "str", '"check"', TEXT, ("compare",),
        """``"check"``: each pair answers the same checks, each by itself, with nothing learned from
        the ones before; ``"explain"``: each pair finds an explanation, and which checks it asks
        depends on the points that its solver finds; ``"minimum"``: each pair finds a minimum
        explanation with a proven bound; ``"contrastive"``: a smallest contrast.""",
        Line("check|explain|minimum|contrastive",
            """Answer the same checks; or find an explanation, a minimum or a contrast each.""",
            "text", SEARCHING)),
    Option("master", "str | None", "None", TEXT.or_none(), ("compare",),
        """of minima, as for :func:`milp_verix.minimum`: ``"program"``, by which the solvers differ,
        ``"tree"``, which is the same for all, or ``"auto"``; by default ``"program"``, and
        ``"auto"`` where hitting sets alone answer (trees, whole numbers and rules).""",
        Line("auto|tree|program",
            """Of minima: the solver's programs, or our own tree, the same for all. [program, or
            auto where hitting sets answer]""", "text", SEARCHING)),
    Option("checks", "Sequence[Sequence[int | str]] | None", "None", ANYTHING, ("compare",),
        """lists of free features, each a check; by default the checks that decide an explanation,
        which ``auto`` finds before the runs.""",
        Line("FILE", "Answer these checks. [those that decide an explanation]", "path")),
    Option("most_checks", "int | None", "None", ANYTHING, ("compare", "many"),
        """the most checks of the explanation that are compared: spread evenly over those that
        bounds and attacks alone do not decide. By default all of them.""",
        Line("N",
            """The most checks of the explanation, of those that bounds leave open. [all]""",
            "positive", SEARCHING)),
    Option("rounds", "int", "1", ANYTHING, ("compare", "many"),
        """how often each pair runs, in turns, 1 to 100; the run with the median time counts.""",
        Line("N", "Runs of each pair, in turns.", "positive", SEARCHING)),
    Option("seeds", "int", "1", ANYTHING, ("compare", "many"),
        """how often each program is solved, 1 to 100: once as it stands, then with the solver's
        seeds 1, 2, … and rows and columns in another order; of ``task="check"`` alone.""",
        Line("N", "Solve each program so often, seeded and permuted.", "positive", SEARCHING)),
    Option("substitutes", "bool", "False", FLAG, ("compare", "many"),
        """whether another solver takes over what is beyond a licence, and is named then; by default
        such a program is not run.""",
        Line("", "Let another solver take what is beyond a licence.", "flag", SEARCHING)),
    Option("relaxations", "bool", "False", FLAG, ("compare", "many"),
        """whether the records of each program have the optimum of the linear relaxation, which
        HiGHS finds, outside of the times of the runs.""",
        Line("", "Of compare: solve linear relaxations, too.", "flag", SEARCHING)),
    Option("order", "OrderLike", '"influence"', ANYTHING, ("audit",),
        """the order in which features are tried, as for :func:`milp_verix.explain`.""",
        replace(_ORDER, help="""Order in which features are tried; FILE is a .npy or .json list of
            all features.""")),
    Option("order", "OrderLike", '"influence"', ANYTHING, ("sweep",),
        """as for :func:`milp_verix.explain`.""", _ORDER),
    Option("order", "OrderLike", '"influence"', ANYTHING, ("compare",),
        """as for :func:`milp_verix.explain`; where ``checks`` are given there is none.""", _ORDER),
    Option("transformation", "str", '"reversal"', TEXT, ("audit", "sweep", "compare"),
        """as for :func:`milp_verix.explain`.""", _TRANSFORMATION),
    Option("traversal", "str", '"galloping"', TEXT, ("audit", "sweep", "compare"),
        """as for :func:`milp_verix.explain`.""", _TRAVERSAL),
    Option("count", "int", "12", INTEGER, ("rules",), """the most rules to return."""),
    Option("tries", "int | None", "None", INTEGER.or_none(), ("rules",),
        """rows to explain; three for each rule by default."""),
    Option("seed", "int", "0", INTEGER, ("rules",), """seed of the rows drawn."""),
    Option("free", "Sequence[int | str] | None", "None", ANYTHING, ("export",),
        """the features that may change, by indices or names; all of them by default.""",
        Line("all|NAME[,NAME…]|FILE",
            """Features that may change; FILE is a .npy or .json list or mask.""", "free")),
    Option("quadratic", "bool", "False", FLAG, ("export",),
        """for the norm ``"l2"``: the ball as one quadratic row, instead of tangents that enclose
        it.""",
        Line("",
            """Of an L2 ball: one quadratic row, instead of the tangents that enclose it.
            [LP]""", "flag")),
    Option("journal", "str | Path", REQUIRED, PATH, ("many",),
        """a ``.jsonl`` file; or a folder, in which each process writes a file of its own."""),
    Option("workers", "int", "1", ANYTHING, ("many",),
        """processes that share the tasks; more than one need joblib."""),
    Option("scheduler", "str | None", "None", ANYTHING, ("many",),
        """the address of a Dask scheduler, such as ``"tcp://host:8786"``, whose workers share the
        tasks instead."""),
    Option("client", "Any", "None", ANYTHING, ("many",),
        """a ``dask.distributed.Client`` in the place of an address."""),
    Option("retry", "Collection[str]", "()", TEXTS, ("many",),
        """tasks with these statuses, ``"undecided"`` or ``"failed"``, are done again."""),
    Option("results", "bool | str | Path", "True", instance_of(bool, str, Path), ("many",),
        """True stores whole results with their counterfactuals in ``STUDY.results`` beside
        ``STUDY.jsonl``, for pictures and reports; a folder stores them there, False nowhere. Each
        is a file that ``Explanation.from_json`` reads; the record's ``result`` names it."""),
    Option("fsync", "bool", "False", FLAG, ("many",),
        """whether each record is forced to the disk, to survive a failure of the machine."""),
    Option("warn", "Callable[[str], None]", "warnings.warn", FUNCTION, ("many",),
        """called with a text for each line of the journal that is no record, and where records
        stand twice or are by several versions."""),
    Option("task", "str | Sequence[str]", '"explain"', TEXTS, ("many",),
        """``"explain"``, ``"minimum"``, ``"contrastive"``, or several of them; or ``"compare"``:
        solvers and formulations answer the same checks, see
        :func:`milp_verix.read_solver_study`."""),
    Option("grid", "Mapping[str, Sequence[Any]] | None", "None", GRID.or_none(), ("many",),
        """other arguments with several values each, such as ``{"order": ["influence",
        "adaptive"]}``; every combination is a task for each input."""),
    Option("indices", "str | Sequence[int] | None", "None", SEVERAL.or_none(), ("many",),
        """the inputs wanted, by default all: a list, or text such as ``"0:100"``."""),
    Option("columns", "Sequence[str] | None", "None", TEXTS.or_none(), ("many",),
        """the columns of a table that make an input, by name and in its order."""),
)


def _progress(words: str, call: str, text: str) -> Option:
    spelt = f"Callable[[{words}], None] | None"
    return Option("progress", spelt, "None", FUNCTION.or_none(), (call,), text)


def _snapshots(result: str, call: str, text: str) -> Option:
    spelt = f"Callable[[Callable[[], {result}]], None] | None"
    return Option("snapshots", spelt, "None", FUNCTION.or_none(), (call,), text)


COURSE: tuple[Option, ...] = (  # how a search is watched, and goes on: the last arguments
    Option("search", "Search", "USUAL", _SEARCH, ("methods",),
        """solver, limits, and how the network is bounded and encoded."""),
    _progress("Progress", "explain", """called before each check, and after each decision."""),
    _snapshots("Explanation", "explain",
        """called with a function that returns the sound result so far: at the start, and whenever
        more is known. The function may be called at any time, in any thread."""),
    Option("resume", "EarlierResult | None", "None", ANYTHING, ("explain",),
        """an earlier result of the same question, or the path of its JSON, to go on from: its
        decisions and its order are kept. Counterfactuals are run in onnxruntime again, and the
        claim on the irrelevant features is checked again with a slice of the time. Where that does
        not prove it, the run begins anew; Ctrl-C during that check raises ``KeyboardInterrupt``.
        Give the same ``tolerances``: no result has them.""", _RESUME),
    _progress("MinimumProgress", "minimum",
        """called with the first lower bound, when all features are still the best explanation, and
        when the best one or the bound changes."""),
    _snapshots("Explanation", "minimum",
        """called as by :func:`milp_verix.explain`; features without a known counterfactual are
        unknown in these results."""),
    Option("resume", "EarlierResult | None", "None", ANYTHING, ("minimum",),
        """as of :func:`milp_verix.explain`; a result of that is taken, too. Its explanation is the
        first incumbent where ``must`` and ``must_not`` are the same. Its scenarios and the cases of
        its lower bound are kept: each case is bounded again before another is split. A note tells
        the bound of the earlier run where that is above what was proven again.""", _RESUME),
    _progress("ContrastiveProgress", "contrastive", """called after each program."""),
    _snapshots("ContrastiveExplanation", "contrastive",
        """called with a function that returns the result so far: at the start, and whenever more is
        known."""),
    Option("resume", "EarlierContrast | None", "None", ANYTHING, ("contrastive",),
        """an earlier result of the same question, or the path of its JSON: its counterfactual is
        run again if it leaves ``must_not`` alone. Its lower bound is no proof: a note tells it
        where it is above that of this run.""", _RESUME),
    _progress("EnumerationProgress", "enumerate", """called after each round."""),
    _snapshots("Enumeration", "enumerate",
        """called with a function that returns the result so far: at the start, and after each
        explanation that is found."""),
    _progress("RangesProgress", "inflate", """called after each end that is decided."""),
    _snapshots("Ranges", "inflate", """called with a function that returns the ranges so far."""),
    _progress("AuditProgress", "audit",
        """called at the start, before each check, and after each decision."""),
    _snapshots("Audit", "audit", """called with a function that returns the result so far."""),
    _progress("RelevanceProgress", "relevance", """called before each set that is tried."""),
    _snapshots("Relevance", "relevance",
        """called with a function that returns the result so far, before each set."""),
    _progress("EnumerationProgress", "importance", """called after each set that is found."""),
    _snapshots("Importance", "importance",
        """called with a function that returns the result so far: at the start, and after each set
        that is found."""),
    Option("resume", "EarlierImportance | None", "None", ANYTHING, ("importance",),
        """an earlier result of the same question, by any index, or the path of its JSON: its
        counterfactuals are run again, and its sets that keep the prediction are proven again.""",
        _RESUME),
    _progress("RadiusProgress", "radius", """called before each question."""),
    _snapshots("RobustnessRadii", "radius",
        """called with a function that returns the result so far. The function may be called at any
        time, in any thread."""),
    _progress("Progress", "sweep",
        """called as by :func:`milp_verix.explain`, for one radius after the other."""),
    _snapshots("EpsilonSweep", "sweep",
        """called with a function that returns the sweep so far: the radii that were reached."""),
    _progress("Pair", "compare", """called with each pair before it runs."""),
    _snapshots("Comparison", "compare",
        """called as by :func:`milp_verix.explain`: at the start and after each run."""),
    Option("resume", "EarlierComparison | None", "None", ANYTHING, ("compare",),
        """an earlier comparison of the same checks, or the path of its JSON: programs that it
        answered are not solved again, but for those with a counterfactual, which records do not
        hold. Pairs of solver and formulation may be others.""", _RESUME),
    _progress("Tally", "many",
        """called with a :class:`Tally` at the start and after each record."""),
)


@cache
def rows_of(call: str, *parts: tuple[Option, ...]) -> tuple[Option, ...]:
    """Return the options that ``call`` takes, of some ``parts`` of the table or of all of it."""
    table = parts or (QUESTION, OWN, SEARCH, COURSE)
    return tuple(row for part in table for row in part if call in row.calls)


@cache
def kinds_of(call: str) -> Mapping[str, Kind]:
    """Return the kinds of values that the options of ``call`` take, by name."""
    return {row.name: row.fits for row in (*rows_of("methods"), *rows_of(call))}


def fitting(call: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``call`` but ``self``, with arrays in the place of tensors.

    Raises ``InputError`` for a value of a wrong kind.
    """
    values = dict(given)
    values.pop("self", None)
    return accepted(values, kinds_of(call))
