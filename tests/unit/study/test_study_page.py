"""The page of a study, read as a browser without JavaScript reads it."""

import re
from pathlib import Path

import pytest

from milp_verix import InputError, write_report
from milp_verix.study.journal import Journal
from milp_verix.study.study_page import study_page
from tests.support.pages import HOSTILE, Element, check_page, image, recorded, study, table


def page_of(journal: Path, **more: object) -> Element:
    return check_page(write_report(journal, **more))  # type: ignore[arg-type]


def section(page: Element, name: str) -> Element:
    return next(one for one in page.all("section") if one.attributes["id"] == name)


def test_pictures_tables_and_failures_are_on_one_page(tmp_path: Path) -> None:
    page = page_of(study(tmp_path, image(1), image(2), table(3), None, prediction=2))
    cards = page.all("article")
    assert [card.all("h3")[0].words for card in cards] == [
        "Input 0: prediction 2",
        "Input 1: prediction 2",
        "Input 2: prediction 2",
    ]
    assert len(cards[0].all("img")) == 4
    assert cards[2].all("table")
    assert HOSTILE in section(page, "open").words
    lead = page.all("header")[0].words
    assert "4 tasks about 4 inputs: 1 done, 2 undecided, 1 failed" in lead


def test_counts_and_quartiles_are_those_of_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path) as journal:
        for index, size in enumerate((3, 5, 7, 9)):
            journal.append(recorded(index, image(1), size=size, epsilon=0.1))
        journal.append(recorded(4, image(1), size=40, epsilon=0.2, status="undecided"))
    cells = [
        [cell.words for cell in row.all("th", "td")]
        for row in section(page_of(path), "summary").all("tr")
    ]
    assert cells[1] == [
        *("explain", "ε = 0.1", "4", "4", "0", "0", "4.5", "6", "7.5", "0.625", "1", "2.5")
    ]
    assert cells[2][2:9] == ["1", "0", "1", "0", "40", "40", "40"]


def test_without_whole_results_the_page_says_how_to_get_pictures(tmp_path: Path) -> None:
    page = page_of(study(tmp_path, image(1), image(2), whole=False))
    assert not page.all("article")
    assert "2 tasks without a whole result" in section(page, "gallery").words
    assert len(section(page, "tasks").all("tr")) == 3


def test_results_elsewhere_are_found(tmp_path: Path) -> None:
    journal = study(tmp_path, image(1))
    text = re.sub(r'"result": "[^"]*"', '"result": null', journal.read_text(encoding="utf-8"))
    journal.write_text(text, encoding="utf-8")
    assert not page_of(journal).all("article")
    stored = next((tmp_path / "study.results").glob("*/*.gz"))
    stored.rename(stored.with_name(f"{0:064x}.json.gz"))
    assert page_of(journal, results=tmp_path / "study.results").all("article")


def test_a_damaged_result_is_told_in_its_card(tmp_path: Path) -> None:
    journal = study(tmp_path, image(1), image(2))
    first = sorted((tmp_path / "study.results").glob("*/*.gz"))[0]
    first.write_bytes(first.read_bytes()[:40])
    cards = page_of(journal).all("article")
    assert "its whole result cannot be read" in cards[0].words
    assert len(cards[1].all("img")) == 4


def test_a_gallery_of_fewer_is_spread_evenly(tmp_path: Path) -> None:
    journal = study(tmp_path, *[image(1)] * 10)
    page = page_of(journal, gallery=3)
    assert [card.all("h3")[0].words[:7] for card in page.all("article")] == [
        *("Input 0", "Input 3", "Input 6")
    ]
    assert "3 of 10 explanations are shown" in section(page, "gallery").words


def test_long_studies_have_pages(tmp_path: Path) -> None:
    page = page_of(study(tmp_path, *[table(1)] * 120))
    pages = section(page, "gallery").all("details")
    assert [one.all("summary")[0].words for one in pages] == [
        "Explanations 1 to 50 of 120",
        "Explanations 51 to 100 of 120",
        "Explanations 101 to 120 of 120",
    ]
    assert ["open" in one.attributes for one in pages] == [True, False, False]


def test_what_varies_is_set_apart_and_what_is_shared_is_not(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path) as journal:
        for index, order in enumerate(("influence", "adaptive")):
            settings = {"order": order, "norm": "l2", "time_limit": index}
            journal.append(recorded(index, image(1), settings=settings))
    page = page_of(path)
    heads = [
        cell.words
        for cell in section(page, "summary").all("th")
        if cell.attributes["scope"] == "col"
    ]
    assert heads[:3] == ["task", "radius", "order"]
    question = section(page, "question").words
    assert "order influence, adaptive" in question
    assert "norm l2" in question


def test_a_study_of_nothing_but_failures_has_a_page(tmp_path: Path) -> None:
    page = page_of(study(tmp_path, None, None))
    assert "nothing to show" in section(page, "distributions").words


@pytest.mark.parametrize("content", ["", "nonsense\n"])
def test_a_journal_without_a_record_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "study.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="no record of a task"):
        study_page(path, results=None, most=10, counterfactuals=1, warn=lambda _: None)


def test_equal_studies_have_equal_pages(tmp_path: Path) -> None:
    journal = study(tmp_path, image(1), table(2), None)
    assert write_report(journal) == write_report(journal)


def test_radii_of_described_inputs_keep_their_words(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path) as journal:
        for index, epsilon in enumerate(["inf", "10%", 0.1]):
            journal.append(recorded(index, image(1), size=3, epsilon=epsilon))
    told = write_report(path)
    assert "<td>0.1, 10%, ∞</td>" in told
    assert "--epsilon 0.1,10%,inf" in told


def test_a_folder_of_results_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = study(tmp_path, image(1))
    with pytest.raises(InputError, match="is no folder"):
        write_report(path, results=tmp_path / "missing")
