"""Pages for the tests: what a parser finds in one, and a study of results made by hand."""

import gzip
import itertools
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from milp_verix import Explanation
from milp_verix.study.journal import Record
from milp_verix.views.rendering import View, environment
from tests.support.handmade_results import made
from tests.support.studies import record, written

HOSTILE = '<script>alert("x")</script>&"\'<img src=x>'
VOID = {"br", "img", "input", "link", "meta"}
HEADING = re.compile(r"h([1-6])")


@dataclass
class Element:
    """An element with its attributes, its text and the elements inside."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    inside: list["Element"] = field(default_factory=list)

    def all(self, *tags: str) -> list["Element"]:
        """Return this element and those inside that have one of ``tags``, in their order."""
        found = [self] if self.tag in tags else []
        return found + [one for child in self.inside for one in child.all(*tags)]

    def every(self) -> list["Element"]:
        return [self] + [one for child in self.inside for one in child.every()]

    @property
    def words(self) -> str:
        """The text of the element and of all inside, in one line."""
        return " ".join(" ".join([self.text, *(child.words for child in self.inside)]).split())


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("page", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute stands twice in {tag}"
        new = Element(tag, dict(attrs))
        self.open[-1].inside.append(new)
        if tag not in VOID:
            self.open.append(new)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].text += data


def parsed(text: str) -> Element:
    """Return the page as elements; elements that do not close are an error."""
    parser = _Parser()
    parser.feed(text)
    parser.close()
    assert len(parser.open) == 1
    return parser.open[0]


def viewed(shown: View) -> Element:
    """Return a part of a page as the templates show it."""
    return parsed(environment().get_template("parts.html").module.view(shown))  # type: ignore[attr-defined]


def check_page(text: str) -> Element:
    """Return the page after all that must hold of every page was checked."""
    page = parsed(text)
    every = page.every()
    names = [one.attributes["id"] for one in every if "id" in one.attributes]
    assert len(set(names)) == len(names)
    for link in page.all("a"):
        target = str(link.attributes["href"])
        assert target.startswith("#")
        assert target[1:] in names
        assert link.words
    for one in every:
        for attribute in ("src", "href", "xlink:href", "action", "data"):
            address = one.attributes.get(attribute)
            assert address is None or address.startswith(("#", "data:")), address
    assert "url(" not in text
    assert "@import" not in text
    for picture in page.all("img"):
        assert picture.attributes["alt"]
    for drawing in page.all("svg"):
        hidden = drawing.attributes.get("aria-hidden") == "true"
        assert hidden or (drawing.attributes["role"] == "img" and drawing.attributes["aria-label"])
    _check_structure(page)
    return page


def _check_structure(page: Element) -> None:
    levels = [
        int(HEADING.fullmatch(one.tag)[1]) for one in page.every() if HEADING.fullmatch(one.tag)
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    for landmark in ("header", "nav", "main", "footer"):
        assert len(page.all(landmark)) == 1
    for table in page.all("table"):
        assert table.all("caption")[0].words
        assert all(cell.attributes.get("scope") in ("col", "row") for cell in table.all("th"))
        assert all(cell.words for cell in table.all("th"))
        widths = {len(row.all("th", "td")) for row in table.all("tr")}
        assert len(widths) == 1
    assert len(page.all("script")) == 1
    assert page.all("html")[0].attributes["lang"] == "en"


def image(index: int, **more: Any) -> Explanation:
    """Return an explanation of an image of 6 × 6 pixels by the pixels ``index`` and 20."""
    return made((1, 6, 6, 1), explained=(index, 20), undecided={30: "time limit"}, **more)


def table(index: int, **more: Any) -> Explanation:
    """Return an explanation of a row of four features with names, one of them hostile."""
    names = ("age", HOSTILE, "capital-gain", "hours")
    return made((1, 4), x=[index, 2, 3, 4], explained=(1,), feature_names=names, **more)


def recorded(index: int, result: Explanation | None, **more: Any) -> Record:
    """Return the record of a task with ``result``, or of one that failed."""
    told: dict[str, Any] = {
        "task": "explain",
        "epsilon": 0.1,
        "settings": {"order": "influence", "norm": "linf", "exactness": "exact"},
        "network": "abc123".ljust(64, "0"),
        "version": "0.1.0",
        "seconds": 0.25 * (index + 1),
        "prediction": None if result is None else result.prediction,
    }
    if result is not None:
        told |= {
            "size": result.size,
            "explanation": list(result.explanation),
            "unknown": list(result.unknown),
            "reason": "; ".join(sorted(set(result.unknown_reasons.values()))) or None,
        }
    told |= more
    return record(index, told.pop("status", "done"), **told)


def study(folder: Path, *results: Explanation | None, whole: bool = True, **more: Any) -> Path:
    """Write a study of ``results``, None for a failed task; return the path of its journal."""
    records = []
    for index, result in enumerate(results):
        if result is None:
            failed = {"status": "failed", "reason": HOSTILE, "size": None, "explanation": None}
            records.append(recorded(index, None, **{**more, **failed}))
            continue
        status = "done" if result.minimal else "undecided"
        one = recorded(index, result, **{"status": status, **more})
        if whole:
            name = f"study.results/{one['key'][:2]}/{one['key']}-{index}.json.gz"
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(gzip.compress(result.to_json().encode()))
            one["result"] = name
        records.append(one)
    return written(folder / "study.jsonl", *records)


def comparison(folder: Path, **more: Any) -> Path:
    """Write the JSON of a comparison of two runs that differ; return its path."""
    run = {
        "formulation": "big_m",
        "version": "1.0",
        "size": 3,
        "holds": 2,
        "violated": 1,
        "unknown": 1,
        "build_seconds": 0.1,
        "solve_seconds": 0.2,
        "resolve_seconds": 0.0,
        "checks": 4,
        "builds": 1,
        "solves": 3,
        "resolves": 2,
        "handed_over": 0,
        "handed_to": None,
        "nodes": 5,
        "iterations": 60,
    }
    runs = [
        {"solver": solver, **run, "seconds": seconds, "answers": answers, "stopped": None}
        | {"notes": [HOSTILE]}
        for solver, seconds, answers in (
            ("highs", 0.5, ["holds", "violated", "holds", "unknown"]),
            ("cbc", 1.5, ["holds", "violated", "unknown", "holds"]),
        )
    ]
    data = {
        "schema": 1,
        "kind": "comparison",
        "model": {"file": HOSTILE, "sha256": "ab" * 32},
        "prediction": 3,
        "epsilon": 0.1,
        "norm": "l2",
        "delta": None,
        "against": None,
        "output": None,
        "rules": [],
        "features": 4,
        "checks": None,
        "rounds": 1,
        "agree": True,
        "stopped": None,
        "runs": runs,
        "disagreements": [],
        "skipped": [{"solver": "scip", "formulation": "big_m", "reason": "it is not installed"}],
    }
    path = folder / "comparison.json"
    path.write_text(json.dumps({**data, **more}), encoding="utf-8")
    return path
