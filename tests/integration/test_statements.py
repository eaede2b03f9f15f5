"""What results say is read back by the page on sentences alone, and put to the user's predict."""

import ast
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from milp_verix.base.number_text import nearest
from tests.support.repository import PYTHON_PATH, ROOT

BENCHMARKS = ROOT / "benchmarks"
KINDS = 26
"""The number of kinds of models: so many seeds have each of them."""


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(BENCHMARKS)
    import statement_reader
    import statements

    return SimpleNamespace(judged=statements.judged, reader=statement_reader)


@pytest.mark.parametrize("number", range(KINDS))
def test_statements_are_readable_and_true(number: int, judge: SimpleNamespace) -> None:
    found = judge.judged(number, small=True)
    assert not found.wrong, "\n".join(found.told)
    assert found.read.total() > 50


@pytest.mark.nightly
def test_all_statements_are_readable_and_true(statement_seed: int, judge: SimpleNamespace) -> None:
    found = judge.judged(statement_seed)
    assert not found.wrong, "\n".join(found.told)


@pytest.mark.slow
def test_rows_at_ends_told_in_single_precision_are_counted(judge: SimpleNamespace) -> None:
    found = judge.judged(1322)  # one of its rules ends at a row's own value
    assert not found.wrong, "\n".join(found.told)


def test_the_reader_needs_the_standard_library_alone() -> None:
    code = "import sys, statement_reader as r; print(len(r.grammar()), *sys.modules)"
    path = f"{PYTHON_PATH}:{BENCHMARKS}"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": path},
    )
    count, *modules = done.stdout.split()
    assert int(count) > 50
    others = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names
    assert others == {"__main__", "statement_reader"}


@pytest.mark.parametrize("name", ["reader", "rooms", "referee", "judges"])
def test_judges_use_nothing_of_the_library(name: str) -> None:
    tree = ast.parse((BENCHMARKS / f"statement_{name}.py").read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
    assert not {one for one in found if one.startswith(("milp_verix", "verix"))}


def test_names_are_read_by_the_words_of_the_table(judge: SimpleNamespace) -> None:
    names = ("a", "a and b", "b is c", "x, y", "as long as")
    lexicon = judge.reader.Lexicon(names, ("no", "no and yes"), ("years",), ("a “b” c",))
    text = (
        "The decision “a “b” c” stays, whatever a and b and as long as are, with x, y within "
        "±5 years of 3, as long as b is c is no and yes and a is 7 years."
    )
    tree = judge.reader.read(text, lexicon)
    assert [one.texts("NAME") for one in tree.all("free")] == [["a and b", "as long as"]]
    assert tree.all("given")[0].texts("NAME", "VALUE") == ["b is c", "no and yes"]
    assert tree.texts("CLASS") == ["a “b” c"]


@pytest.mark.parametrize(
    "text",
    [
        "The decision “no” stays.  ",
        "The decision “maybe” stays.",
        "The decision “no” stays, whatever height is.",
        "The decision “no” stays, probably.",
        "With age: 3 → red, the decision becomes “no”.",
    ],
)
def test_other_forms_are_not_read(text: str, judge: SimpleNamespace) -> None:
    lexicon = judge.reader.Lexicon(("age",), ("blue",), (), ("no",))
    with pytest.raises(judge.reader.UnreadableError):
        judge.reader.read(text, lexicon)


def _after(change: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda right: lambda *args, **options: change(right(*args, **options))


def _always(value: Any) -> Callable[[Any], Callable[..., Any]]:
    return lambda right: lambda *args, **options: value


FAULTS: dict[str, tuple[dict[str, Callable[[Any], Any]], int]] = {
    "names of other columns": (
        {
            "milp_verix.views.labels.FeatureLabels.__getitem__": lambda right: (
                lambda labels, feature: right(labels, (feature + 1) % len(labels.names))
            )
        },
        3,
    ),
    "a rounded value": (
        {"milp_verix.inputs.feature.exact": lambda right: lambda value: nearest(value, 2)},
        11,
    ),
    "a rounded end of a range": (
        {
            "milp_verix.views.ranges_words.range_end": lambda right: (
                lambda end, x, kind: (nearest(end, 2), False)
            )
        },
        4,
    ),
    "no limits in a sentence": (
        {"milp_verix.views.sentences.limit_parts": _always([])},
        3,
    ),
    "no limits of a contrast": (
        {"milp_verix.views.contrast_words.limit_parts": _always([])},
        8,
    ),
    "no directions of a contrast": (
        {"milp_verix.views.contrast_words.directions_of": _always([])},
        9,
    ),
    "held columns that count as free": (
        {
            "milp_verix.results.base.still_features": _always(()),
            "milp_verix.views.sentences._move": _always(np.inf),
        },
        13,
    ),
    "the name of another class": (
        {
            "milp_verix.views.wording.named_prediction": lambda right: (
                lambda found, label, *more: (
                    right(found, label ^ 1, *more)
                    if isinstance(label, int)
                    else right(found, label, *more)
                )
            )
        },
        2,
    ),
    "a share of rows that is too large": (
        {
            "milp_verix.views.ranges_words.percent_of": lambda right: (
                lambda part, whole: right(min(part + 3, whole), whole)
            )
        },
        3,
    ),
    "a radius that is too large": (
        {"milp_verix.views.radius_words.down": _after(lambda text: nearest(float(text), 1))},
        4,
    ),
    "no domain of an array": (
        {
            "milp_verix.views.sentences._in_domain": _always(""),
            "milp_verix.views.sentences.bounds_sentences": _always([]),
        },
        100,
    ),
    "no link of a regressor": (
        {"milp_verix.views.sentences._link_sentences": _always([])},
        40,
    ),
    "another norm": (
        {"milp_verix.views.wording.norm_text": _always("L2")},
        336,
    ),
    "the radius of another coordinate": (
        {
            "milp_verix.views.sentences._move": lambda right: (
                lambda result, feature: right(result, (feature + 1) % len(result.groups))
            )
        },
        310,
    ),
    "a network inside a model run at other inputs": (
        {
            "milp_verix.embedding.embedded.replayed": lambda right: (
                lambda network, box, inputs, *more, **options: replace(
                    right(network, box, inputs, *more, **options),
                    replayed=network.scores_at(inputs[::-1]),
                )
            )
        },
        8,
    ),
    "the importance of another column": (
        {
            "milp_verix.views.importance_words._row": lambda right: (
                lambda found, feature: right(found, (feature + 1) % len(found.groups))
            )
        },
        8,
    ),
    "a difference that is rounded down": (
        {
            "milp_verix.embedding.embedded_check.up": lambda right: (
                lambda x, n=4: nearest(0.8 * x, n)
            )
        },
        8,
    ),
    "a tie": (
        {
            "milp_verix.problem.question.Threshold.predicted": lambda right: (
                lambda question, outputs: int(float(outputs[0]) >= question.threshold)
            ),
            "milp_verix.problem.question.Threshold.changed": lambda right: (
                lambda question, outputs: bool(question.label) != (float(outputs[0]) >= 0)
            ),
        },
        312,
    ),
}
"""Where a fault is planted, what it does, and a seed whose small part meets it."""


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(
    name: str, judge: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    places, seed = FAULTS[name]
    for place, fault in places.items():
        owner, _, attribute = place.rpartition(".")
        target = pkgutil.resolve_name(owner)
        monkeypatch.setattr(target, attribute, fault(getattr(target, attribute)))
    assert judge.judged(seed, small=True).false


def test_above_and_below_leave_out_the_end_alone(judge: SimpleNamespace) -> None:
    import statement_referee

    for end, towards in ((31.0, -np.inf), (31.0, np.inf), (0.1, 1.0), (0.0, -1.0)):
        first = statement_referee.beyond(end, towards)
        assert first != end
        assert first == np.nextafter(end, towards)
