"""Questions of every kind about rows of a case, and all text that answers them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from statement_cases import Case, Rng
from statement_rooms import Asked
from statement_texts import Told, picture_texts, report_texts, result_texts

import milp_verix as mv

_ROWS = 2
_LIMITS = mv.Search(time_limit=20.0)


@dataclass(frozen=True)
class Question:
    """A question about a ``row``, ``told`` in a line; ``texts`` asks it and takes all text."""

    row: int
    told: str
    asked: Asked
    texts: Callable[[], Iterable[Told]]


def questions(case: Case, rng: Rng, folder: Path) -> list[Question]:
    """Return questions about some rows that satisfy the rules."""
    fits = np.ones(len(case.frame), dtype=bool)
    for rule in case.rules.values():
        fits &= rule(case.frame)
    network = mv.load_network(case.model)
    rows = rng.permutation(np.flatnonzero(fits))[:_ROWS].tolist()
    return [one for row in rows for _ in range(2) for one in _about(case, network, row, rng, folder)]


def drawn_epsilon(case: Case, rng: Rng) -> tuple[Any, dict[str, float]]:
    """Return radii as a user gives them, and as numbers for each column."""
    kind = rng.choice(["whole", "share", "sd", "number", "each"], p=[0.35, 0.2, 0.1, 0.1, 0.25])
    numbers = [column for column in case.columns if column.kind != "words"]
    inf = dict.fromkeys(case.names, np.inf)
    if kind == "share":
        percent = float(rng.choice([10, 25, 33.3, 60, 12.3456789]))
        return f"{percent}%", {c.name: percent / 100 * _range(c) for c in case.columns}
    if kind == "number":
        radius = float(rng.choice([1, 2, 0.5, 3.14159265, 40]))
        return radius, dict.fromkeys(case.names, radius)
    if kind == "whole":
        return ("inf", inf) if rng.random() < 0.5 else (np.inf, inf)
    given: dict[str, Any] = {"*": np.inf}
    radii = dict(inf)
    for column in numbers:
        if rng.random() < 0.7:
            share = float(rng.choice([0.0, 0.1, 0.2 / 3, 0.5]))
            if kind == "sd" and column.deviation:
                given[column.name] = "0.5sd"
                radii[column.name] = 0.5 * column.deviation
            else:
                radii[column.name] = given[column.name] = share * _range(column)
    if rng.random() < 0.3:
        given["*"], still = 0, {*case.names} - {*given}
        radii |= dict.fromkeys(still, 0.0)
    return given, radii


def _range(column: Any) -> float:
    return 1.0 if column.kind == "words" else column.high - column.low


def _about(
    case: Case, network: Any, row: int, rng: Rng, folder: Path
) -> Iterator[Question]:
    epsilon, radii = drawn_epsilon(case, rng)
    options: dict[str, Any] = {"epsilon": epsilon, "inputs": case.inputs}
    asked = Asked(radii)
    prediction = case.predict(case.frame.iloc[[row]])[0]
    if not case.classes:
        delta = float(f"{rng.uniform(0.01, 0.6) * np.std(case.predict(case.frame)):.3g}")
        options["delta"], asked = delta, replace(asked, delta=delta)
    elif len(case.classes) > 2 and rng.random() < 0.3:
        others = [place for place, name in enumerate(case.classes) if name != prediction]
        options["against"] = int(rng.choice(others))
        asked = replace(asked, against=(case.classes[options["against"]],))
    x = case.frame.iloc[row]

    def question(name: str, more: Asked, answer: Callable[[Any], Any]) -> Question:
        def texts() -> Iterator[Told]:
            found = answer(mv.Problem(network, x, **options))
            yield from result_texts(found)
            if not hasattr(found, "about"):
                yield from report_texts(mv.write_report(found))
            if hasattr(found, "plot"):
                yield from picture_texts(found.plot())

        told = {k: v for k, v in options.items() if k != "inputs"}
        return Question(row, f"{name} {told}", more, texts)

    names, inf = [*case.names], dict.fromkeys(case.names, np.inf)
    far = {column.name: _range(column) for column in case.columns}
    some = rng.permutation(names)[: rng.integers(0, len(names))].tolist()
    one = str(rng.choice(names))
    yield question("explain", asked, lambda p: p.explain(search=_LIMITS))
    yield question("minimum", asked, lambda p: p.minimum(search=_LIMITS))
    held = some[: int(rng.integers(0, 2))]
    yield question(
        f"contrastive must_not={held}",
        replace(asked, held=tuple(held)),
        lambda p: p.contrastive(must_not=held, count=2, search=_LIMITS),
    )
    if case.classes:
        yield question(
            "nearest", asked, lambda p: p.contrastive(minimise="distance", search=_LIMITS)
        )
    frame = case.frame
    yield question("inflate", asked, lambda p: p.inflate(rows=frame, search=_LIMITS))
    yield question("enumerate", asked, lambda p: p.enumerate(search=_LIMITS))
    index = str(rng.choice(["shapley", "holler-packel", "deegan-packel", "responsibility"]))
    scores = rng.normal(size=len(names)).round(3).tolist()
    yield question(
        f"importance {index}",
        replace(asked, scores=dict(zip(names, scores, strict=True))),
        lambda p: p.importance(index=index, beside=scores, search=_LIMITS),
    )
    yield question(f"relevance {one}", asked, lambda p: p.relevance(one, search=_LIMITS))
    yield question(f"audit {some}", asked, lambda p: p.audit(some, search=_LIMITS))
    yield question(f"check {some or [one]}", asked, lambda p: p.check(some or [one]))
    yield question("radius each", replace(asked, radii=far), lambda p: p.radius(each=True, search=_LIMITS))
    yield question("radius", replace(asked, radii=inf, sought=True), lambda p: p.radius(search=_LIMITS))
    share = {column.name: 0.3 * _range(column) for column in case.columns}
    yield question("sweep", replace(asked, radii=share), lambda p: p.sweep(["30%", "10%"], search=_LIMITS))
