"""The calls that users make, written from the tables of calls and options.

``python docs/write_calls.py`` writes ``calls.py`` and ``problem_methods.py`` of ``milp_verix/api``,
``milp_verix/study/many.py``, the arguments of ``Search``, and ``docs/options.md``, from
``docs/call_rows.py`` and ``milp_verix/problem/option_rows.py``; a test compares them.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill, indent, wrap

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "encodings"), str(ROOT / "docs")]

from call_rows import CALLS, LEAD, MANY, RULES, TYPES, USUAL_ERRORS, Call  # noqa: E402

from milp_verix.problem.option_rows import (  # noqa: E402
    COURSE,
    OWN,
    QUESTION,
    REQUIRED,
    SEARCH,
    Option,
    rows_of,
)

WIDTH = 100
INSIDE = WIDTH - 4
"""The width of what is in a class, and indented once more."""
_SHORTEST = 12  # characters that say something


_MORE = (
    "More on the question: :class:`milp_verix.Problem`; on the search: :class:`milp_verix.Search`."
)
_SAME = "Network, input, shared options and usual errors: see :func:`milp_verix.explain`."
_TASKS = ("explain", "minimum", "contrastive", "compare")
_OF_TASKS = """Options of a task: see :func:`milp_verix.explain`, :func:`milp_verix.minimum`,
:func:`milp_verix.contrastive` and :func:`milp_verix.compare`."""
_INIT = Call("explain", "Problem", "problem.problem.pose", "None", "")
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

Written by ``python docs/write_calls.py`` from the tables of calls and options: change these
instead. A call has no body: what :func:`delegated` names is loaded once it is asked.
\"""

# fmt: off
# mypy: disable-error-code="empty-body"

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
    start = "from typing import TYPE_CHECKING\n\nfrom milp_verix.api.entrance import delegated\n"
    start += "from milp_verix.problem.ball import UNIT_DOMAIN\n"
    of_search = "from milp_verix.problem.search import {}".format
    return {
        package / "api" / "calls.py": _module(
            "The questions about a prediction, each in one call.",
            f"import math\n{start}{of_search('USUAL')}",
            [*(_call(one, ("network", "x")) for one in CALLS), _call(RULES, ("network", "rows"))],
        ),
        package / "api" / "problem_methods.py": _module(
            "``Problem``: a question about one prediction, with methods that answer it.",
            f"import math\n{start}from milp_verix.problem.problem import ProblemData\n"
            + of_search("USUAL, Search"),
            [_problem()],
        ),
        package / "study" / "many.py": _module(
            "A study of many inputs, as one call.",
            f"import warnings\n{start}{of_search('USUAL')}",
            [_call(MANY, ("network", "xs"))],
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


def _call(call: Call, lead: Sequence[str]) -> str:
    """Return the source of a call that takes a network first."""
    rows, known = rows_of(call.method), {*rows_of("explain", QUESTION), *rows_of("explain", SEARCH)}
    if call.method == "explain":
        doc = f"{_arguments(lead, rows, WIDTH, brief=known)}\n\n{_MORE}"
    else:
        if call is MANY:
            known |= {row for task in _TASKS for row in rows_of(task)}
        other = [name for name in lead if name not in ("network", "x")]
        own = [row for row in rows if row not in known]
        same = _OF_TASKS if call is MANY else _SAME
        doc = f"{same}\n\n{_arguments(other, own, WIDTH, brief=())}"
    if call.method == "explain" or call.errors != USUAL_ERRORS:
        doc += f"\n\nRaises:\n{indent(call.errors, ' ' * 4)}"
    first = [f"{name}: {LEAD[name][0]}" for name in lead]
    signature = _signature(first, rows, call.placed, WIDTH)
    return _function(call, call.name, signature, f"{call.about}\n\n{doc}")


def _method(call: Call) -> str:
    """Return the source of a method of ``Problem``."""
    rows = (*rows_of(call.method, OWN), *rows_of("methods"), *rows_of(call.method, COURSE))
    summary = fill(call.about.partition("\n\n")[0], WIDTH - 8)
    placed = ("epsilons",) if call.method == "sweep" else call.placed
    signature = _signature(["self"], rows, placed, INSIDE)
    doc = f"{summary}\n\nArguments, and errors: :func:`milp_verix.{call.name}`."
    return _function(call, call.method, signature, doc)


def _problem() -> str:
    """Return the source of ``Problem``."""
    rows = rows_of("explain", QUESTION)
    first = ["self", *(f"{name}: {LEAD[name][0]}" for name in ("network", "x"))]
    init = _function(_INIT, "__init__", _signature(first, rows, (), INSIDE), "")
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


def _function(call: Call, name: str, signature: str, doc: str) -> str:
    body = indent(f'"""{doc}\n"""' if doc else "...", " " * 4)
    head = f'@delegated("{call.method}", to="{call.answer}")\ndef {name}'
    return f"{head}(\n{signature}\n) -> {call.result}:\n{body}"


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
