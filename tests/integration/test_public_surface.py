"""Names, arguments, options of commands and fields of files of version 0.2 are all still there.

``tests.support.public_surface`` says what is compared, and how the stored facts were written; more
may have come. ``milp_verix.testing`` came later.
"""

import json
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

import milp_verix
from milp_verix import InputError
from milp_verix.study import tasks
from tests.support import earlier_files
from tests.support.public_surface import Fact, surface, unpacked
from tests.support.repository import FIXTURES
from verix_checker.numbers import stored
from verix_checker.verification import verify

STORED = json.loads((FIXTURES / "public_surface.json").read_text(encoding="utf-8"))
UNDOCUMENTED = {
    *(("OnnxNetwork", name) for name in ("named_inputs", "scores")),
    *(("encodings.ProgramBuilder", name) for name in ("column_blocks", "rows")),
    *((f"encodings.{kind}", "retightened") for kind in ("Node", "Affine", "Max", "Relu")),
    ("Search.require_only", "taken"),
    ("OnnxNetwork.scores", "x"),
}
"""Members that no document named, and that are gone or take something else."""
OTHERWISE = {
    # orders are tried where many neurons are undecided
    *((place, "order", "= 'influence'") for place in ("Problem.explain", "explain")),
    ("explain_many", "order", "= 'influence'"),
    ("explain", "--order", "= 'influence'"),
    # the same defaults, resolved later
    ("batch", "--threads", "= 1"),
    ("compare", "--order", "= None"),
    *((place, "master", "= 'program'") for place in ("compare", "Problem.compare")),
    ("compare", "--master", "= 'program'"),
    # the options of a question, each by its name now
    *(("find_rules", "asked", word) for word in ("", "= VAR_KEYWORD")),
    # the changelog tells of this default
    ("read_solver_study", "clock", "= 'wall'"),
}
LATER = {
    *(("Embedded", name) for name in ("input_names", "output_names")),  # made by ``embed`` alone
    ("Search.require_only", "call"),
    ("find_rules", "epsilon"),  # among ``asked`` before
}
"""Arguments without a default that were not there by their names."""

OLD = FIXTURES / "results" / "0.2"
RESULTS = [
    path
    for path in sorted((FIXTURES / "results").rglob("*.json"))
    if not path.stem.endswith(("-certificate", "comparison"))
]
CLASSES = {
    "contrastive": "ContrastiveExplanation",
    "radius": "RobustnessRadii",
    "sweep": "EpsilonSweep",
}


@cache
def before(section: str) -> set[Fact]:
    return unpacked(STORED[section])


@cache
def now() -> dict[str, set[Fact]]:
    return surface()


def kept(fact: Fact) -> bool:
    """Whether a fact has to hold, and not only one of the ``SearchLimits`` that are ignored."""
    taken = (*fact[:2], "") in now()["taken"]
    ignored = fact[0] == "SearchLimits" and (fact[2].isdigit() or not taken)
    return not (ignored or fact[1] == "told" or fact[:2] in UNDOCUMENTED or fact in OTHERWISE)


@pytest.mark.parametrize("section", STORED)
def test_all_is_there(section: str) -> None:
    assert not sorted(filter(kept, before(section) - now()[section]))


def test_nothing_new_is_required() -> None:
    known = {fact[:2] for fact in before("taken")}
    free = {fact[:2] for fact in now()["taken"] if fact[2].startswith("= ")}
    new = {fact[:2] for fact in now()["taken"]} - known - free - LATER
    places = {place for place, _ in known}
    assert not sorted(one for one in new if one[0] in places)


def test_fields_have_no_other_types() -> None:
    """A program that reads files meets nothing in a field that was not there before."""
    known = {fact[:2] for fact in before("fields")}
    other = {fact for fact in now()["fields"] - before("fields") if fact[:2] in known}
    signs = {
        (f".{part}.changes[][]", sign)
        for part in ("importance", "minimum", "no_part")
        for sign in "-.+"
    }
    assert other == {("comparison", ".schema", "2"), *(("certificate", *one) for one in signs)}


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_result_of_an_earlier_version_is_read_and_stored_again(path: Path) -> None:
    before = json.loads(path.read_text(encoding="utf-8"))
    kind = getattr(milp_verix, CLASSES.get(before["kind"], before["kind"].title()))
    found = kind.from_json(path)
    if search := before.get("statistics", {}).get("search"):
        search.pop("needed", None)  # of version 0.1 alone
    after = json.loads(found.to_json())
    for then, here in zip(before.pop("levels", ()), after.get("levels", ()), strict=True):
        assert {name: here.get(name) for name in then} == then
    assert {name: after.get(name) for name in before} == before
    said = "“(refused|granted)”" if path.parent == OLD else str(found.prediction)
    assert re.search(said, found.sentence())
    assert found.summary().row_count


@pytest.mark.parametrize("path", sorted(OLD.glob("*-certificate.json")), ids=lambda path: path.stem)
def test_a_certificate_of_an_earlier_version_is_verified(path: Path) -> None:
    *_, last = verify(*stored(earlier_files.MODEL, path))
    assert last.startswith("VERIFIED: ")


def test_a_study_of_an_earlier_version_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "version", lambda: "0.2.0")  # other versions find all answers anew
    known = {fact[1] for fact in before("taken") if fact[0] in tasks.FUNCTIONS}
    later = {fact[1] for fact in now()["taken"] if fact[0] in tasks.FUNCTIONS} - known
    given = (*tasks._GIVEN_BY_THE_STUDY, *later)  # that version had no option that came later
    monkeypatch.setattr(tasks, "_GIVEN_BY_THE_STUDY", given)
    shutil.copytree(OLD, tmp_path / "copy")
    journal = tmp_path / "copy" / "study.jsonl"
    stored_lines = journal.read_bytes()
    earlier_files.studied(journal)
    assert journal.read_bytes() == stored_lines
    rows = [row for _, row in milp_verix.read_study(journal).iterrows()]
    assert [row["status"] for row in rows] == ["done"] * 6
    for row in rows:
        found = milp_verix.read_result(journal, row)
        assert found is not None
        assert re.search("“(refused|granted)”", found.sentence())


@pytest.mark.parametrize("clock", ["solver", "wall", "cpu"])
def test_a_study_of_solvers_of_an_earlier_version_is_read(clock: str) -> None:
    found = milp_verix.read_solver_study(OLD / "solvers.jsonl", clock=clock)
    assert {one.pair.solver for one in found.summary()} == {*earlier_files.SOLVERS}
    assert len(found.rows) == 24


def test_a_comparison_of_an_earlier_version_gives_its_checks() -> None:
    earlier = OLD / "comparison.json"
    before = json.loads(earlier.read_text(encoding="utf-8"))
    about = {"solvers": earlier_files.SOLVERS, **earlier_files.question()}
    found = milp_verix.compare(
        earlier_files.MODEL, earlier_files.PEOPLE[0], resume=earlier, **about
    )
    assert [list(check) for check in found.checks or ()] == before["checks"]
    for run, was in zip(found.runs, before["runs"], strict=True):
        assert [answer.value for answer in run.answers] == was["answers"]
        assert all(one.digest for one in run.each)
        assert any("input, bounds, tolerances and limits were not recorded" in n for n in run.notes)
    with pytest.raises(InputError, match="other programs, with another epsilon"):
        milp_verix.compare(
            earlier_files.MODEL,
            earlier_files.PEOPLE[0],
            resume=earlier,
            **{**about, "epsilon": "30%"},
        )
    page = milp_verix.write_report(earlier)
    assert "loan.onnx" in page
    other = {**before, "schema": 3}
    with pytest.raises(InputError, match="has schema 3, expected 2: another version"):
        milp_verix.compare(
            earlier_files.MODEL, earlier_files.PEOPLE[0], resume=json.dumps(other), **about
        )
