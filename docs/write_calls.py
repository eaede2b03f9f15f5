"""The calls that users make, written from the table of options.

``python docs/write_calls.py`` writes ``milp_verix/api/calls.py``, ``milp_verix/api/problem.py``,
``milp_verix/study/calls.py`` and the arguments of ``Search``; a test compares them with the table.
What a call does, and its errors, stand in these files alone: the docstring of a call is kept up to
its arguments, and from its errors on.
"""

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill, indent, wrap

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "encodings")]

from milp_verix.problem.option_rows import (  # noqa: E402
    COURSE,
    OWN,
    QUESTION,
    REQUIRED,
    SEARCH,
    Option,
)
from milp_verix.problem.search import rows_of  # noqa: E402

WIDTH = 100
INSIDE = WIDTH - 4
"""The width of what is in a class, and indented once more."""
_SHORTEST = 12  # characters that say something


@dataclass(frozen=True)
class Call:
    """A method of ``Problem``, its name as a function, and the function that answers it.

    ``placed`` are the options that may be given by position.
    """

    method: str
    name: str
    answer: str
    result: str
    placed: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The module of the function that answers."""
        return "milp_verix." + self.answer.rpartition(".")[0]

    @property
    def function(self) -> str:
        """The name of the function that answers."""
        return self.answer.rpartition(".")[2]

    @property
    def text(self) -> str:
        """The docstring of the call as it stands."""
        package = "study" if self.method == "many" else "api"
        tree = ast.parse((ROOT / "milp_verix" / package / "calls.py").read_text(encoding="utf-8"))
        functions = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
        found = next((one for one in functions if one.name == self.name), None)
        return "" if found is None else ast.get_docstring(found) or ""


_SEARCHES = "searches.{}.{}".format
CALLS = (
    Call("explain", "explain", _SEARCHES("explain_search", "explain_problem"), "Explanation"),
    Call("minimum", "minimum", _SEARCHES("minimum.smallest", "minimum_of"), "Explanation"),
    Call(
        "contrastive",
        "contrastive",
        _SEARCHES("contrastive", "contrastive_of"),
        "ContrastiveExplanation",
    ),
    Call(
        "enumerate",
        "enumerate_explanations",
        _SEARCHES("importance_search", "enumerate_problem"),
        "Enumeration",
    ),
    Call(
        "inflate",
        "inflate",
        _SEARCHES("ranges.inflate", "inflate_problem"),
        "Ranges",
        ("explanation",),
    ),
    Call("check", "check", _SEARCHES("explain_search", "check_problem"), "Check", ("free",)),
    Call("audit", "audit", _SEARCHES("audit_search", "audit_of"), "Audit", ("explanation",)),
    Call(
        "relevance", "relevance", _SEARCHES("relevance", "relevance_of"), "Relevance", ("feature",)
    ),
    Call("importance", "importance", _SEARCHES("importance_search", "importance_of"), "Importance"),
    Call("radius", "robustness_radius", _SEARCHES("radius_search", "radius_of"), "RobustnessRadii"),
    Call("sweep", "epsilon_sweep", _SEARCHES("sweep", "sweep_of"), "EpsilonSweep"),
    Call("compare", "compare", "comparison.compare.compare_solvers", "Comparison"),
    Call("export", "encode_check", "oracle.check_program.encode_problem", "Encoding", ("free",)),
)
RULES = Call("rules", "find_rules", _SEARCHES("ranges.inflate", "rules_of_table"), "Rules")
MANY = Call("many", "explain_many", "study.study_run.run_many", "Tally")

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
    "RelevanceProgress": "milp_verix.searches.relevance",
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


_MORE = (
    "More on the question: :class:`milp_verix.Problem`; on the search: :class:`milp_verix.Search`."
)
_SAME = "Network, input, shared options and usual errors: see :func:`milp_verix.explain`."
_TASKS = ("explain", "minimum", "contrastive", "compare")
_OF_TASKS = """Options of a task: see :func:`milp_verix.explain`, :func:`milp_verix.minimum`,
:func:`milp_verix.contrastive` and :func:`milp_verix.compare`."""
_ERRORS = """\
    InputError: an argument does not fit.
    ModelError: the network cannot be read or encoded.
    SolverUnavailableError: the solver is not installed."""
"""The usual errors of a call."""
_ONE_LINER = """\
problem, options = parted("{method}", locals())
{imports}return {function}(problem, **options)"""
_RULES = """\
given = fitting("rules", locals())
{imports}options = {row.name: given.pop(row.name) for row in rows_of("rules", QUESTION)}
return {function}(given.pop("network"), given.pop("rows"), options, **given)"""
_MANY = """\
given = different(explain_many, fitting("many", locals()))
{imports}return {function}(**given)"""
_METHOD = """\
given = fitting("{method}", locals())
{imports}return {function}(self, **given)"""
_INIT = """\
given = fitting("explain", locals())
data = problem_of(given.pop("network"), given.pop("x"), Given(**given))
ProblemData.__init__(self, **vars(data))"""
_PROBLEM = """\
class Problem(ProblemData):
    \"""A question about one prediction: network, input, ball and features; checked once.

    Its methods are the searches that answer it. Two problems are equal if network, input, ball,
    question and features are; they can be keys of dictionaries.

{arguments}

    Raises:
        InputError: an argument does not fit the network.
        ModelError: the network cannot be read.
    \"""

{methods}

    def certify(
        self, explanation: Certifiable, *, time_limit: float | None = None
    ) -> Certificate:
        \"""Return a certificate of an answer, as :func:`milp_verix.certify` does.\"""
        from milp_verix.certificates.certify import certify

        return certify(self.network, explanation, time_limit=time_limit)

    def __str__(self) -> str:
        \"""The question in words: the prediction, and the changes under which it is to stay.\"""
        from milp_verix.views.wording import question_text

        return question_text(self)"""
_SECTIONS = {
    "The question": QUESTION,
    "The search": SEARCH,
    "Of single calls": OWN,
    "Its course": tuple(row for row in COURSE if row.name != "search"),
}
_PAGE = """\
# Options

All options of the calls that ask about a prediction, in the order of their signatures; \
[Arguments](arguments.md) says which of them matter. On the command line `image_shape=` is \
`--image-shape`. `python docs/write_calls.py` writes this page from the table of options."""
_MODULE = """\
\"""{about}

Signatures, bodies and arguments are written by ``python docs/write_calls.py`` from the table of
options: change that instead.
\"""

# fmt: off

from __future__ import annotations

{imports}

if TYPE_CHECKING:
{types}


{body}
"""


def files() -> dict[Path, str]:
    """Return the text of each file that is written."""
    package = ROOT / "milp_verix"
    search = package / "problem" / "search.py"
    entrance = "from milp_verix.api.entrance import {}\n"
    typing = "from typing import TYPE_CHECKING\n\n"
    domain = "from milp_verix.problem.ball import UNIT_DOMAIN\n"
    search_options = "from milp_verix.problem.search import {}".format
    return {
        package / "api" / "calls.py": _module(
            "The questions about a prediction, each in one call.",
            "import math\n"
            + typing
            + entrance.format("parted, remedied")
            + domain
            + "from milp_verix.problem.option_rows import QUESTION\n"
            + search_options("USUAL, fitting, rows_of"),
            [*map(_one_liner, CALLS), _call(RULES, ("network", "rows"), _RULES)],
        ),
        package / "api" / "problem.py": _module(
            "``Problem``: a question about one prediction, with methods that answer it.",
            "import math\n"
            + typing
            + entrance.format("remedied")
            + domain
            + "from milp_verix.problem.problem import ProblemData, problem_of\n"
            + search_options("USUAL, Given, Search, fitting"),
            [_problem()],
        ),
        package / "study" / "calls.py": _module(
            "A study of many inputs, as one call.",
            "import warnings\n"
            + typing
            + entrance.format("different, remedied")
            + domain
            + search_options("USUAL, fitting"),
            [_call(MANY, ("network", "xs"), _MANY)],
        ),
        search: _search(search.read_text(encoding="utf-8")),
        ROOT / "docs" / "options.md": _page(),
    }


def _page() -> str:
    """Return the page of the documents with all options."""
    names = {call.method: call.name for call in (*CALLS, RULES, MANY)}
    parts = []
    for title, rows in _SECTIONS.items():
        lines = [
            f"## {title}",
            "",
            "| option | default | taken by | what it is |",
            "|---|---|---|---|",
        ]
        for row in rows:
            calls = [f"`{names[call]}`" for call in row.calls if call in names]
            left = [f"`{name}`" for name in names.values() if f"`{name}`" not in calls]
            taken = ", ".join(calls)
            if len(left) < len(calls):
                taken = f"all but {', '.join(left)}" if left else "all"
            text = " ".join(row.text.split()).replace("``", "`").replace("|", "\\|")
            text = re.sub(r":\w+:`([^`]+)`", r"`\1`", text)
            default = f"`{row.default}`" if row.default else "must be given"
            lines.append(f"| `{row.name}` | {default} | {taken} | {text} |")
        parts.append("\n".join(lines))
    return f"{_PAGE}\n\n" + "\n\n".join(parts) + "\n"


def _one_liner(call: Call) -> str:
    return _call(call, ("network", "x"), _ONE_LINER.replace("{method}", call.method))


def _call(call: Call, lead: Sequence[str], body: str) -> str:
    """Return the source of a call that takes a network first."""
    rows, known = rows_of(call.method), {*rows_of("explain", QUESTION), *rows_of("explain", SEARCH)}
    head, errors = call.text.partition("\n\nArgs:\n")[0], call.text.partition("\n\nRaises:\n")[2]
    if call.method == "explain":
        doc = f"{head}\n\n{_arguments(lead, rows, WIDTH, brief=known)}\n\n{_MORE}"
    else:
        same = _OF_TASKS if call is MANY else _SAME
        if call is MANY:
            known |= {row for task in _TASKS for row in rows_of(task)}
        other = [name for name in lead if name not in ("network", "x")]
        own = [row for row in rows if row not in known]
        head = head.removesuffix(f"\n\n{same}")
        doc = f"{head}\n\n{same}\n\n{_arguments(other, own, WIDTH, brief=())}"
    if call.method == "explain" or errors not in ("", _ERRORS):
        doc += f"\n\nRaises:\n{errors or _ERRORS}"
    first = [f"{name}: {LEAD[name][0]}" for name in lead]
    body = body.replace("{imports}", _imports(call)).replace("{function}", call.function)
    return _function(
        f"def {call.name}", _signature(first, rows, call.placed, WIDTH), call.result, doc, body
    )


def _method(call: Call) -> str:
    """Return the source of a method of ``Problem``."""
    rows = (*rows_of(call.method, OWN), *rows_of("methods"), *rows_of(call.method, COURSE))
    summary = fill(call.text.partition("\n\n")[0], WIDTH - 8)
    doc = f"{summary}\n\nArguments, and errors: :func:`milp_verix.{call.name}`."
    source = _METHOD.format(method=call.method, imports=_imports(call), function=call.function)
    placed = ("epsilons",) if call.method == "sweep" else call.placed
    signature = _signature(["self"], rows, placed, INSIDE)
    return _function(f"def {call.method}", signature, call.result, doc, source)


def _problem() -> str:
    """Return the source of ``Problem``."""
    rows = rows_of("explain", QUESTION)
    first = ["self", *(f"{name}: {LEAD[name][0]}" for name in ("network", "x"))]
    init = _function("def __init__", _signature(first, rows, (), INSIDE), "None", "", _INIT)
    methods = "\n\n".join([init, *map(_method, CALLS)])
    told = _arguments(("network", "x"), rows, WIDTH, brief=())
    return _PROBLEM.format(arguments=indent(told, " " * 4), methods=indent(methods, " " * 4))


def _search(source: str) -> str:
    """Return the module of ``Search`` with the arguments in its docstring."""
    rows = {row.name: row for row in reversed(SEARCH) if "explain" in row.calls}
    given = [row for row in SEARCH if row is rows.get(row.name)]
    told = _arguments((), given, WIDTH, brief=())
    before, _, rest = source.partition("    Args:\n")
    _, raises, after = rest.partition("    Raises:\n")
    return f"{before}{indent(told, ' ' * 4)}\n\n{raises}{after}"


def _function(head: str, signature: str, result: str, doc: str, body: str) -> str:
    quoted = f'"""{doc}\n"""\n' if doc else ""
    return f"@remedied\n{head}(\n{signature}\n) -> {result}:\n{indent(quoted + body, ' ' * 4)}"


def _imports(call: Call) -> str:
    """Return the import of a call: what answers a question is loaded once it is asked."""
    return f"\nfrom {call.module} import {call.function}\n\n"


def _signature(
    first: Sequence[str], rows: Iterable[Option], placed: Sequence[str], width: int
) -> str:
    """Return parameters, those by name behind those that may be ``placed``."""
    rows = sorted(rows, key=lambda row: (row.name not in placed, row.default != REQUIRED))
    spelt = [f"{row.name}: {row.type}" + f" = {row.default}" * bool(row.default) for row in rows]
    count = sum(row.name in placed for row in rows)
    spelt = [*first, *spelt[:count], *["*"] * (count < len(rows)), *spelt[count:]]
    hard = [one.replace(" ", "\1") for one in spelt]  # a parameter is not broken
    return indent(_wrapped(", ".join(hard), width - 4).replace("\1", " "), " " * 4)


def _arguments(
    lead: Sequence[str], rows: Iterable[Option], width: int, *, brief: Iterable[Option]
) -> str:
    """Return the section of a docstring on arguments; of those ``brief`` the first sentence."""
    short = {*brief}
    leads = [(name, LEAD[name][1]) for name in lead]
    entries = [(name, _first(text) if short else text) for name, text in leads]
    entries += [(row.name, _first(row.text) if row in short else row.text) for row in rows]
    told = (
        _wrapped(f"{name}: {' '.join(text.split())}", width - 8, " " * 4) for name, text in entries
    )
    return "Args:\n" + "\n".join(indent(one, " " * 4) for one in told)


def _wrapped(text: str, width: int, hanging: str = "") -> str:
    lines = wrap(
        text,
        width,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def _first(text: str) -> str:
    """Return the first part of a text that says what an option is."""
    flat = " ".join(text.split())
    for end in re.finditer(r"[.;:](?= )|[.]$", flat):
        part = flat[: end.start()]
        whole = part.count("(") == part.count(")") and part.count("``") % 2 == 0
        if whole and len(part) > _SHORTEST:
            return f"{part}."
    return flat


def _module(about: str, imports: str, parts: Sequence[str]) -> str:
    """Return the source of a module: types are imported for those who check them alone."""
    body = "\n\n\n".join(parts)
    body = "\n".join(line.rstrip() for line in body.split("\n"))
    code = re.sub(r'""".*?"""', "", body, flags=re.DOTALL)
    used: dict[str, list[str]] = {}
    for name, module in TYPES.items():
        if re.search(rf"[:>[(,|] ?{name}\b", code):
            used.setdefault(module, []).append(name)
    needed = [one for one in imports.split("\n") if not _unused(one, code)]
    types = indent(_type_imports(used), " " * 4)
    return _MODULE.format(about=about, imports="\n".join(needed), types=types, body=body)


def _unused(line: str, code: str) -> bool:
    return line in ("import math", "import warnings") and f"{line.split()[1]}." not in code


def _type_imports(used: Mapping[str, list[str]]) -> str:
    """Return the imports of types, those of the standard library first, as ruff sorts them."""
    ours = ("milp_verix", "verix_encodings")
    blocks = (("collections", "pathlib", "typing"), ("numpy",), ours)
    found = []
    for block in blocks:
        lines = []
        for module in sorted(used):
            if module.partition(".")[0] in block:
                names = sorted(used[module])
                line = f"from {module} import {', '.join(names)}"
                if len(line) > WIDTH - 4:
                    line = f"from {module} import (\n    {f',{chr(10)}    '.join(names)},\n)"
                lines.append(line)
        found += ["\n".join(lines)] * bool(lines)
    return "\n\n".join(found)


if __name__ == "__main__":
    for path, text in files().items():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"written: {path}")  # noqa: T201
