from pathlib import Path
from typing import Any

import pytest

from milp_verix import (
    ContrastiveExplanation,
    Explanation,
    InputError,
    audit,
    epsilon_sweep,
    robustness_radius,
    write_report,
)
from milp_verix.api.calls import compare
from milp_verix.views.audit_words import audit_headline
from milp_verix.views.radius_words import radii_headline
from tests.support.command_line import run_here
from tests.support.digits_example import EPSILON, images, network
from tests.support.pages import HOSTILE, check_page, comparison, image, study, table
from tests.support.repository import FIXTURES

STORED = FIXTURES / "results"


@pytest.mark.parametrize("name", ["explanation", "minimum", "contrastive", "enumeration"])
def test_a_stored_result_has_a_page(name: str) -> None:
    page = check_page(write_report(STORED / f"{name}.json"))
    assert page.all("img")
    assert page.all("h1")[0].words.startswith("Prediction ")


@pytest.mark.parametrize("features", [[], range(0, 64, 2), range(64)])
def test_an_audit_has_a_page(features: list[int], tmp_path: Path) -> None:
    found = audit(network(), images()[15], list(features), epsilon=EPSILON)
    found.to_json(tmp_path / "audit.json")
    page = check_page(write_report(tmp_path / "audit.json"))
    assert page.all("h1")[0].words == audit_headline(found)
    pictures = 3 + (found.counterexample is not None) + min(24, len(found.counterfactuals))
    assert len(page.all("img")) == pictures


@pytest.mark.parametrize("each", [False, True])
def test_radii_have_a_page(each: bool, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"each": True} if each else {"free": [3, 4]}
    found = robustness_radius(network(), images()[15], tolerance=0.5, **asked)
    found.to_json(tmp_path / "radii.json")
    page = check_page(write_report(tmp_path / "radii.json"))
    assert page.all("h1")[0].words == radii_headline(found)
    assert len(page.all("img")) == 1


def test_a_result_in_memory_has_the_page_of_its_file() -> None:
    for kind, name in ((Explanation, "minimum"), (ContrastiveExplanation, "contrastive")):
        path = STORED / f"{name}.json"
        assert write_report(kind.from_json(path)) == write_report(path)


def test_names_from_outside_stay_text() -> None:
    page = check_page(write_report(table(1, file=HOSTILE, notes=(HOSTILE,))))
    assert HOSTILE in page.words


def test_one_result_shows_more_counterfactuals_than_a_study(tmp_path: Path) -> None:
    path = tmp_path / "explanation.json"
    image(0).to_json(path)
    assert len(check_page(write_report(path)).all("img")) == 4
    assert len(check_page(write_report(image(0), counterfactuals=1)).all("img")) == 3


def test_a_comparison_has_a_page_from_json(tmp_path: Path) -> None:
    page = check_page(write_report(comparison(tmp_path)))
    words = page.words
    assert "Answers that differ: 2 features" in words
    assert "Not compared: scip, big_m: it is not installed" in words
    assert HOSTILE in words


def test_a_contradiction_is_told(tmp_path: Path) -> None:
    pair = {"solver": "highs", "formulation": "big_m"}
    found = {"holding": pair, "violated": {**pair, "solver": "cbc"}, "free": [1, 2], "margin": 0}
    path = comparison(
        tmp_path, agree=False, disagreements=[{**found, "reached": 0.25, "witness": [0.5]}]
    )
    page = check_page(write_report(path))
    assert "1 contradiction" in page.all("header")[0].words
    assert "a counterfactual of cbc, big_m refutes (margin 0 is 0.25 there)" in page.words


@pytest.mark.slow
def test_a_comparison_has_a_page_from_each_of_its_forms(tmp_path: Path) -> None:
    found = compare(
        network(), images()[15], epsilon=EPSILON, solvers=["highs", "phase"], formulations=["big_m"]
    )
    found.to_json(tmp_path / "found.json")
    found.to_csv(tmp_path / "found.csv")
    pages = [
        check_page(write_report(source))
        for source in (found, tmp_path / "found.json", tmp_path / "found.csv")
    ]
    tables = [page.all("table") for page in pages]
    runs = [[cell.words for cell in some[-2].all("td")] for some in tables]
    assert runs[0] == runs[1] == runs[2]
    assert pages[0].all("section")[1].words == pages[1].all("section")[1].words


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{}", "holds no result"),
        ("a.json", "[1]", "holds no result"),
        ("a.json", "nonsense", "is not JSON"),
        ("a.json", '{"schema": 2, "kind": "explanation"}', "has schema 2, expected 3"),
        ("a.json", '{"kind": "comparison", "runs": [{}]}', "not a comparison"),
        ("a.json", '{"schema": 2, "kind": "unheard of"}', "holds no result"),
        ("a.csv", "a,b\n1,2\n", "is no comparison"),
        ("a.txt", "text", "is not JSON"),
    ],
)
def test_files_of_other_kinds_are_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        write_report(path)


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    journal, page = study(tmp_path, image(1), None), tmp_path / "report.html"
    done = run_here("report", journal, "-o", page)
    assert done.returncode == 0, done.stderr
    assert page.read_text(encoding="utf-8") == write_report(journal)
    assert done.stdout.replace("\n", "").endswith("MB")


def test_the_command_refuses_what_is_not_there(tmp_path: Path) -> None:
    for source in ("absent.jsonl", "absent.json", "absent.csv"):
        done = run_here("report", tmp_path / source, "-o", tmp_path / "report.html")
        assert done.returncode == 2
        assert "cannot read" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_page_takes_no_place_of_its_source(tmp_path: Path) -> None:
    path = tmp_path / "explanation.json"
    content = (STORED / "explanation.json").read_bytes()
    path.write_bytes(content)
    with pytest.raises(InputError, match="is the source of the report"):
        write_report(path, tmp_path / "." / "explanation.json")
    assert path.read_bytes() == content


def test_a_sweep_has_a_page_as_an_object_and_as_its_file(tmp_path: Path) -> None:
    found = epsilon_sweep(network(), images()[15], epsilons=[0.05, 0.1])
    found.to_json(tmp_path / "sweep.json")
    page = write_report(found)
    assert page == write_report(tmp_path / "sweep.json")
    assert "explained at 2 radii" in page
    for level in found.levels:
        assert f"{level.size} of 64 features" in page
    assert 'src="data:image/png;base64,' in page
