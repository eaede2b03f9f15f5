"""Questions of every kind about rows of a case, and all text that answers them."""

import contextlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from statement_cases import Case, Rng
from statement_embedding import checked, entries_of
from statement_rooms import Asked, Solution
from statement_texts import (
    Told,
    comparison_texts,
    notice_texts,
    picture_texts,
    printed_rows,
    report_texts,
    result_texts,
    study_texts,
)

import milp_verix as mv
from milp_verix.cli.app import app

_LIMIT = mv.Search(time_limit=20.0)
_SHORT_LIMIT = mv.Search(time_limit=2.0)
_INDICES = ("shapley", "holler-packel", "deegan-packel", "responsibility")


@dataclass(frozen=True)
class Question:
    """A question about a ``row``, ``told`` in a line; ``texts`` asks it and takes all text."""

    row: int
    told: str
    asked: Asked
    texts: Callable[[], Iterable[Told]]


def questions(case: Case, rng: Rng, folder: Path, *, small: bool = False) -> list[Question]:
    """Return questions about two rows that satisfy the rules, each with two sets of radii.

    ``small`` ones are about one row, with one set, and every second of them.
    """
    fits = np.ones(len(case.frame), dtype=bool)
    for rule in case.rules.values():
        fits &= rule(case.frame)
    network = case.model if case.message else mv.load_network(case.model)
    rows = [0] if case.message else rng.permutation(np.flatnonzero(fits)).tolist()
    if case.scores is not None and rng.random() < 0.5:  # rows whose classes tie come first
        best = np.sort(np.atleast_2d(case.scores(case.frame).T).T, axis=1)[:, -2:]
        rows.sort(key=lambda row: float(np.ptp(best[row])) > 0 if best.shape[1] > 1 else 0)
    many = 1 if small else 2
    inside = [*_embedded(case, network, rows[:many])]
    found = [
        one
        for row in rows[:many]
        for _ in range(many)
        for one in _About(case, network, row, rng).asked()
    ]
    if case.message:
        return found[::2] if small else found
    about = _About(case, network, rows[0], rng)
    if case.array is not None:
        found += [about.study(rows[:3], folder), about.rules(), *about.array_commands(folder)]
    else:
        found += [about.study(rows[:3], folder), about.rules(), *about.commands(folder)]
    return (found[int(rng.integers(2)) :: 2] if small else found) + inside


def _embedded(case: Case, network: Any, rows: list[int]) -> Iterator[Question]:
    """Yield questions about networks inside optimisation models, which draw on their own."""
    if (entries := entries_of(case, network)) is None:
        return
    for row in rows:
        solutions: dict[str, list[Solution]] = {}

        def texts(row: int = row, solutions: Any = solutions) -> Iterator[Told]:
            found = checked(case, network, entries, row, np.random.default_rng([85, row]))
            for text, solution in found:
                solutions.setdefault(text, []).append(solution)
                yield Told("embedding", "checked", text)

        yield Question(row, "embed", Asked({}, solutions=solutions), texts)


class _About:
    """Questions about one row, with radii, rivals and a tolerance that are drawn."""

    def __init__(self, case: Case, network: Any, row: int, rng: Rng) -> None:
        self.case, self.network, self.row, self.rng = case, network, row, rng
        ball = drawn_ball if case.array is not None else drawn_epsilon
        epsilon, radii, *norm = ball(case, rng)
        self.options: dict[str, Any] = {"epsilon": epsilon}
        if case.inputs is not None:
            self.options["inputs"] = case.inputs
        if norm:
            self.options |= {"norm": norm[0].lower().replace("∞", "inf"), **(case.given or {})}
        self.limits = Asked(radii, norm=norm[0] if norm else "L∞")
        if not case.classes:
            spread = float(np.std(case.predict(case.frame))) or 1.0
            delta = float(f"{rng.uniform(0.01, 0.6) * spread:.3g}")
            self.options["delta"], self.limits = delta, replace(self.limits, delta=delta)
        elif len(case.classes) > 2 and rng.random() < 0.3:
            own = case.predict(case.frame.iloc[[row]])[0]
            rival = int(rng.choice([i for i, name in enumerate(case.classes) if name != own]))
            self.options["against"] = rival
            self.limits = replace(self.limits, against=(case.classes[rival],))

    def question(
        self, name: str, answer: Callable[[Any], Any], texts: Any = None, **limits: Any
    ) -> Question:
        """Return a question that ``answer`` asks of the problem, with some other limits."""
        options = {key: value for key, value in self.options.items() if key != "inputs"}
        array = self.case.array
        inputs = limits.pop("inputs", self.case.inputs)

        def told() -> Iterator[Told]:
            if self.case.message:
                found = answer(self.case.message.problem(**self.options))
                if isinstance(found, mv.Explanation):
                    yield Told("message", "marked", self.case.message.marked(found))
            else:
                asked = {**self.options, **({} if array else {"inputs": inputs})}
                x = array(self._here)[0] if array else self.case.frame.iloc[self.row]
                found = answer(mv.Problem(self.network, x, **asked))
            yield from (texts or _every)(found)

        return Question(self.row, f"{name} {options}", replace(self.limits, **limits), told)

    @property
    def _here(self) -> Any:
        return self.case.frame.iloc[[self.row]]

    def _called(self, names: list[str]) -> list[Any]:
        """Return columns as a user calls them: those of an array by their places."""
        known = self.case.names
        return names if self.case.array is None else [known.index(name) for name in names]

    def asked(self) -> Iterator[Question]:
        """Yield one question of each kind."""
        case, rng, names, called = self.case, self.rng, [*self.case.names], self._called
        some = rng.permutation(names)[: rng.integers(0, len(names))].tolist()
        one, free, held = str(rng.choice(names)), some or names[:1], some[: rng.integers(0, 2)]
        limit: dict[str, Any] = {"search": _LIMIT if case.array is None else _SHORT_LIMIT}
        scores = rng.normal(size=len(names)).round(3)
        costs = rng.integers(1, 5, len(names)).astype(float)
        index, ranges = str(rng.choice(_INDICES)), {c.name: width_of(c) for c in case.columns}
        everywhere, frame = dict.fromkeys(names, np.inf), case.frame
        yield self.question("explain", lambda p: p.explain(**limit))
        yield self.question(f"minimum must={held}", lambda p: p.minimum(must=called(held), **limit))
        yield self.question(
            f"contrastive must_not={held}",
            lambda p: p.contrastive(must_not=called(held), count=2, **limit),
            held=tuple(held),
        )
        yield self.question(
            f"contrastive costs={costs.tolist()}",
            lambda p: p.contrastive(costs=costs, **limit),
            costs=dict(zip(names, costs.tolist(), strict=True)),
        )
        yield self.question("enumerate", lambda p: p.enumerate(**limit))
        yield self.question(f"audit {some}", lambda p: p.audit(called(some), **limit))
        yield self.question(f"check {free}", lambda p: p.check(called(free)))
        if case.message:
            return
        one, several = called([one])[0], called(free)
        beside = scores if self.row % 2 else None
        yield self.question(
            f"importance {index}",
            lambda p: p.importance(index=index, beside=beside, **limit),
            scores=dict(zip(names, scores.tolist(), strict=True)) if self.row % 2 else None,
        )
        yield self.question(f"relevance {one}", lambda p: p.relevance(one, **limit))
        yield self.question(f"relevance {free}", lambda p: p.relevance(several, **limit))
        task, pairs = ("check", "explain", "minimum", "contrastive")[self.row % 4], ["highs", "cbc"]
        given: dict[str, Any] = {"task": task, "solvers": pairs, **limit}
        given |= {"checks": [called([name]) for name in names]} if task == "check" else {}
        yield self.question(f"compare {task}", lambda p: p.compare(**given), comparison_texts)
        if case.array is not None:
            yield from self._of_arrays(limit)
            return
        ways = {c.name: str(rng.choice(["up", "down"])) for c in case.columns if c.kind != "words"
                and not c.missing and not c.fixed and rng.random() < 0.5}  # fmt: skip
        minimise = "distance" if rng.random() < 0.7 else "features"
        yield self.question(
            f"contrastive minimise={minimise} only={ways}",
            lambda p: p.contrastive(minimise=minimise, **limit),
            inputs=case.inputs.only(ways),
            only=ways,
        )
        yield self.question("inflate", lambda p: p.inflate(rows=frame, **limit))
        if case.classes:
            yield self.question(
                f"notice minimise={minimise}",
                lambda p: mv.write_notice(
                    p.inflate(rows=frame, **limit),
                    p.contrastive(minimise=minimise, count=2, **limit),
                ),
                notice_texts,
            )
        yield self.question("radius each", lambda p: p.radius(each=True, **limit), radii=ranges)
        yield self.question("radius", lambda p: p.radius(**limit), radii=everywhere, sought=True)
        shares = {name: 0.3 * width for name, width in ranges.items()}
        yield self.question("sweep", lambda p: p.sweep(["30%", "10%"], **limit), radii=shares)
        own = {name: width * (1 + at % 3) / 4 for at, (name, width) in enumerate(ranges.items())}
        half = {name: radius / 2 for name, radius in own.items()}
        yield self.question(
            "sweep of own radii", lambda p: p.sweep([own, half], **limit), radii=own
        )
        yield self.question(
            "radius in shares",
            lambda p: p.radius(scale="10%", **limit),
            radii=everywhere,
            sought=True,
        )

    def _of_arrays(self, limit: dict[str, Any]) -> Iterator[Question]:
        """Yield the questions that arrays are asked otherwise."""
        case, rng = self.case, self.rng
        everywhere = dict.fromkeys(case.names, np.inf)
        yield self.question(
            "contrastive minimise=distance", lambda p: p.contrastive(minimise="distance", **limit)
        )
        if self.limits.norm == "L∞":
            reach = float(rng.choice([0.3, 2.0]))
            yield self.question(f"inflate {reach}", lambda p: p.inflate(within=reach, **limit))
        if isinstance(self.options["epsilon"], np.ndarray) and case.classes:
            yield self.question(
                "notice",
                lambda p: mv.write_notice(
                    p.inflate(within=2.0, **limit), p.contrastive(count=2, **limit)
                ),
                notice_texts,
            )
        end = float(rng.choice([1.5, 40.0]))
        yield self.question(
            f"radius each {end}",
            lambda p: p.radius(each=True, largest=end, **limit),
            radii=dict.fromkeys(case.names, end),
        )
        yield self.question(
            f"radius {end}",
            lambda p: p.radius(largest=end, **limit),
            radii=everywhere,
            sought=True,
        )
        radius = float(rng.choice([0.1, 0.7]))
        yield self.question(
            f"sweep {radius}",
            lambda p: p.sweep([2 * radius, radius], **limit),
            radii=dict.fromkeys(case.names, 2 * radius),
        )

    def study(self, rows: list[int], folder: Path) -> Question:
        """Return a study of some rows: its CSV, its columns, its page."""
        journal = folder / f"study-{self.row}.jsonl"

        def texts() -> Iterator[Told]:
            asked = {**self.options, "indices": rows, "journal": journal}
            array, frame = self.case.array, self.case.frame
            mv.explain_many(self.network, array(frame) if array else frame, **asked)
            table = mv.read_study(journal).to_csv(index=False)
            printed = command("columns", str(journal))
            yield from study_texts(table, printed, mv.write_report(journal))

        return Question(self.row, f"study of {rows} {self.options['epsilon']}", self.limits, texts)

    def rules(self) -> Question:
        """Return rules over the frame."""

        def texts() -> Iterator[Told]:
            array, frame = self.case.array, self.case.frame
            rows = frame if array is None else array(frame)
            found = mv.find_rules(self.network, rows, count=3, **self.options)
            yield from result_texts(found)

        return Question(
            self.row, f"rules {self.options['epsilon']}", replace(self.limits, rule=True), texts
        )

    def commands(self, folder: Path) -> Iterator[Question]:
        """Yield questions on the command line: a model, a description and a row in files."""
        case, options = self.case, self.options
        if isinstance(options["epsilon"], dict):
            return
        model = case.model
        if not isinstance(model, str):
            model = str(folder / "model.joblib")
            joblib.dump(case.model, model)
        row, inputs = folder / f"row-{self.row}.json", folder / "inputs.json"
        row.write_text(json.dumps(case.own(self.row)), encoding="utf-8")
        inputs.write_text(json.dumps(case.inputs.to_data()), encoding="utf-8")
        given = ["--inputs", str(inputs), "--epsilon", _epsilon_text(options["epsilon"])]
        for name in ("delta", "against"):
            given += [f"--{name}", str(options[name])] if name in options else []
        for name in ("explain", "contrastive", "inflate"):

            def texts(name: str = name) -> Iterator[Told]:
                printed = command(name, model, str(row), *given)
                yield from printed_rows(printed, "command line")

            yield Question(self.row, f"milp-verix {name} {' '.join(given[2:])}", self.limits, texts)

    def array_commands(self, folder: Path) -> Iterator[Question]:
        """Yield questions on the command line: a model, an array and its radii in files."""
        case, options = self.case, self.options
        model, row = case.model, folder / f"row-{self.row}.npy"
        assert case.array is not None
        if not isinstance(model, str):
            model = str(folder / "model.joblib")
            joblib.dump(case.model, model)
        np.save(row, case.array(self._here)[0])
        given, radii = dict(case.given or {}), folder / "radii.npy"
        if isinstance(options["epsilon"], np.ndarray):
            np.save(radii, options["epsilon"])
        low, high = given.pop("domain")
        if np.ndim(low) or np.ndim(high):
            return
        words = ["--norm", options["norm"], "--domain", repr(float(low)), repr(float(high))]
        words += ["--epsilon", str(radii) if radii.exists() else repr(options["epsilon"])]
        if shape := given.pop("image_shape", None):
            words += ["--image-shape", ",".join(map(str, shape))]
        for name in ("features", "feature_names"):
            if isinstance(value := given.get(name), list):
                value = folder / f"{name}.json"
                value.write_text(json.dumps(given[name]), encoding="utf-8")
            words += [f"--{name.replace('_', '-')}", str(value)] if value else []
        for name in ("delta", "against"):
            words += [f"--{name}", str(options[name])] if name in options else []
        for name in ("explain", "contrastive", "radius"):

            def texts(name: str = name) -> Iterator[Told]:
                given = words if name != "radius" else [*words[:5], *words[7:]]
                more = ["--largest", "2.5"] if name == "radius" else []
                printed = command(name, model, str(row), *given, *more)
                yield from printed_rows(printed, "command line")

            limits = self.limits
            if name == "radius":
                everywhere = dict.fromkeys(case.names, np.inf)
                limits = replace(limits, radii=everywhere, sought=True)
            yield Question(self.row, f"milp-verix {name} {' '.join(words)}", limits, texts)


def command(*words: str) -> str:
    """Return what a command prints; raise ``InputError`` where it refuses its arguments."""
    out, errors = io.StringIO(), io.StringIO()
    os.environ["COLUMNS"] = "100000"
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = app([*words], standalone_mode=False)
    if code == 2:
        raise mv.InputError(errors.getvalue().strip())
    return out.getvalue()


def drawn_epsilon(case: Case, rng: Rng) -> tuple[Any, dict[str, float]]:
    """Return radii as a user gives them, and as numbers for each column."""
    kind = rng.choice(["whole", "share", "sd", "number", "each"], p=[0.35, 0.2, 0.1, 0.1, 0.25])
    radii = dict.fromkeys(case.names, np.inf)
    if kind == "share":
        percent = float(rng.choice([10, 25, 33.3, 60, 12.3456789]))
        return f"{percent}%", {c.name: percent / 100 * width_of(c) for c in case.columns}
    if kind == "number":
        radius = float(rng.choice([1, 2, 0.5, 3.14159265, 40]))
        return radius, dict.fromkeys(case.names, radius)
    if kind == "whole":
        return ("inf" if rng.random() < 0.5 else np.inf), radii
    given: dict[str, Any] = {"*": np.inf}
    for column in case.columns:
        if column.kind != "words" and rng.random() < 0.7:
            share = float(rng.choice([0.0, 0.1, 0.2 / 3, 0.5]))
            radii[column.name] = given[column.name] = share * width_of(column)
            if kind == "sd" and column.deviation:
                given[column.name], radii[column.name] = "0.5sd", 0.5 * column.deviation
    if rng.random() < 0.3:
        given["*"], still = 0, {*case.names} - {*given}
        radii |= dict.fromkeys(still, 0.0)
    return given, radii


def drawn_ball(case: Case, rng: Rng) -> tuple[Any, dict[str, float], str]:
    """Return a radius of an array, or an array of radii, those of its columns, and a norm."""
    spans = [width_of(c) if np.isfinite(width_of(c)) else 4.0 for c in case.columns]
    share = float(rng.choice([0.03, 0.1, 0.2 / 3, 0.4, 1.0]))
    singles = all(column.kind == "real" for column in case.columns)
    if singles and rng.random() < 0.25:
        radii = np.array(spans) * share * rng.choice([0.0, 0.5, 1.0, 2.0], len(spans))
        return radii, dict(zip(case.names, radii.tolist(), strict=True)), "L∞"
    norm = str(rng.choice(["L∞", "L1", "L2"], p=[0.6, 0.2, 0.2]))
    radius = float(min(spans) * share) * (3.0 if norm == "L1" else 1.0)
    return radius, dict.fromkeys(case.names, radius), norm


def width_of(column: Any) -> float:
    """Return the range of a column that shares are of, 1 for words."""
    return 1.0 if column.kind == "words" else column.high - column.low


def _epsilon_text(epsilon: Any) -> str:
    return epsilon if isinstance(epsilon, str) else repr(float(epsilon))


def _every(found: Any) -> Iterator[Told]:
    """Yield all texts of a result."""
    yield from result_texts(found)
    if not hasattr(found, "about"):
        yield from report_texts(mv.write_report(found))
    if hasattr(found, "plot"):
        yield from picture_texts(found.plot())
