"""A run that goes on from an earlier result ends as an uninterrupted one, and believes no lie."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from milp_verix import Explanation, InputError, explain, load_network, minimum
from milp_verix.oracle.oracle import Oracle
from milp_verix.results.base import Counterfactual
from milp_verix.searches.strategies import STRATEGIES
from tests.support import digits_example as digits
from tests.support.brute_force_cases import Case, case
from tests.support.brute_force_norms import NORMS, radius
from tests.support.command_line import SEVEN, run_here
from tests.support.counterfactual_checks import assert_sound
from tests.support.interrupts import interrupt, interrupting
from tests.support.mixed_domains import mixed_case
from tests.support.onnx_models import node
from tests.support.repository import FIXTURES

OTHER = {"milp-verix": "0.0.0"}


def parts(explained: Callable[..., Explanation]) -> list[Explanation]:
    """Return the results of a run that was interrupted after 1, 2, … steps, until it ends."""
    found = [explained(progress=interrupting(1))]
    while found[-1].statistics.stopped is not None:
        found.append(explained(progress=interrupting(len(found) + 1)))
    return found


def written(result: Explanation, folder: Path) -> Path:
    path = folder / "earlier.json"
    result.to_json(path)
    return path


def posed(problem: Case, folder: Path, **more: Any) -> Callable[..., Explanation]:
    network, options = problem.network(folder), {**problem.options, **more}
    return lambda **further: explain(network, problem.x, **options, **further)


@pytest.mark.slow
@pytest.mark.parametrize("traversal", STRATEGIES)
@pytest.mark.parametrize("seed", range(0, 24, 2))
def test_a_run_interrupted_anywhere_goes_on_to_the_same_explanation(
    seed: int, traversal: str, tmp_path: Path
) -> None:
    problem = case(seed)
    explained = posed(problem, tmp_path, traversal=traversal)
    whole, stopped = explained(), parts(explained)
    assert len(stopped) > 1
    for part in stopped:
        again = explained(resume=written(part, tmp_path))
        assert again.explanation == whole.explanation
        assert again.permutation == whole.permutation
        assert again.minimal
        assert problem.brute.holds(again.irrelevant)
        assert_sound(again, problem.network(tmp_path), problem.x)


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", [4, 9])
def test_other_norms_go_on(seed: int, norm: str, tmp_path: Path) -> None:
    problem = case(seed)
    explained = posed(problem, tmp_path, norm=norm, epsilon=radius(problem, norm))
    whole = explained()
    for part in parts(explained):
        assert explained(resume=part).explanation == whole.explanation


@pytest.mark.slow
@pytest.mark.parametrize("order", ["influence", "adaptive", "random"])
@pytest.mark.parametrize("index", [3, 15])
def test_a_run_on_an_image_goes_on_to_the_same_explanation(index: int, order: str) -> None:
    saved: list[Callable[[], Explanation]] = []
    options: dict[str, Any] = {"epsilon": digits.EPSILON, "order": order}
    network, x = digits.network(), digits.images()[index]
    whole = explain(network, x, **options, snapshots=saved.append)
    assert len(saved) > 10
    decided = []
    for snapshot in saved[::4]:
        part = snapshot()
        again = explain(network, x, **options, resume=part)
        assert (again.explanation, again.permutation) == (whole.explanation, whole.permutation)
        assert again.replay(network) == ()
        decided.append(sum(stage.features for stage in again.statistics.stages))
    # it asks about the features left and no others
    assert decided[0] == 64
    assert decided == sorted(decided, reverse=True)
    assert decided[-1] < 10


def tampered(result: Explanation, freed: int) -> Explanation:
    """Return ``result`` with a feature of its explanation passed off as irrelevant."""
    kept = {f: c for f, c in result.counterfactuals.items() if f != freed}
    return replace(
        result,
        explanation=tuple(kept),
        irrelevant=tuple(sorted([*result.irrelevant, freed])),
        counterfactuals=kept,
    )


@pytest.mark.parametrize("version", [{}, OTHER])
def test_a_feature_too_many_is_refuted(version: dict[str, str]) -> None:
    whole = digits.explained(15)
    for feature in whole.explanation[::5]:
        lie = replace(tampered(whole, feature), versions={**whole.versions, **version})
        again = explain(digits.network(), digits.images()[15], epsilon=0.1, resume=lie)
        assert again.explanation == whole.explanation
        assert "was refuted: this run began anew" in again.notes[0]


def test_a_false_counterfactual_keeps_no_feature() -> None:
    whole, x = digits.explained(15), digits.images()[15]
    feature = whole.irrelevant[7]
    point = x.copy()
    point.reshape(-1)[feature] += np.float32(0.05) if point.reshape(-1)[feature] < 0.5 else -0.05
    outside = next(iter(whole.counterfactuals.values())).input + np.float32(0.2)
    for lie in (Counterfactual(point, 3), Counterfactual(outside.clip(0, 1), 3)):
        told = replace(
            whole,
            explanation=tuple(sorted([*whole.explanation, feature])),
            irrelevant=tuple(f for f in whole.irrelevant if f != feature),
            counterfactuals={**whole.counterfactuals, feature: lie},
        )
        again = explain(digits.network(), x, epsilon=0.1, resume=told)
        assert again.explanation == whole.explanation
        assert again.replay(digits.network()) == ()


@pytest.mark.nightly
def test_an_unproven_claim_never_counts() -> None:
    # bounds alone cannot prove what programs did
    whole = digits.explained(15)
    options: dict[str, Any] = {"epsilon": 0.1, "exactness": "bounds"}

    def explained(**more: Any) -> Explanation:
        return explain(digits.network(), digits.images()[15], **options, **more)

    alone = explained()
    assert alone.size > whole.size
    for doubt in (whole, replace(whole, versions=OTHER), replace(whole, versions={})):
        other = explained(resume=doubt)
        assert (other.explanation, other.irrelevant) == (alone.explanation, alone.irrelevant)
        assert "could not be proven again in time: this run began anew" in other.notes[0]


def test_a_claim_of_another_version_counts_once_it_is_proven_again() -> None:
    whole = digits.explained(15)
    old = replace(whole, versions=OTHER)
    again = explain(digits.network(), digits.images()[15], epsilon=0.1, resume=old)
    assert again.explanation == whole.explanation
    assert again.notes[0].endswith("milp-verix 0.0.0 was proven again")
    assert again.statistics.checks == 1  # the one that proved the claim


@pytest.mark.slow
def test_a_file_without_an_explanation_proves_none_in_no_time(tmp_path: Path) -> None:
    # the empty explanation is false: no feature fixed, the prediction changes
    whole, path = digits.explained(15), tmp_path / "earlier.json"
    every = tuple(range(64))
    none = {"explanation": (), "counterfactuals": {}, "unknown_reasons": {}, "needed": 0}
    lie = replace(whole, irrelevant=every, **none)
    lie.to_json(path)
    for limits in ({"time_limit": 1e-6}, {"exactness": "bounds"}):
        options: dict[str, Any] = {"epsilon": 0.1, **limits}
        again = explain(digits.network(), digits.images()[15], **options, resume=path)
        assert again.size > 0
        assert "this run began anew" in again.notes[0]


def test_an_interrupt_while_the_claim_is_checked_again_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # a result would replace an earlier one that holds more
    whole = digits.explained(15)
    saved: list[Callable[[], Explanation]] = []

    monkeypatch.setattr(Oracle, "check", interrupt)
    options: dict[str, Any] = {"epsilon": 0.1, "resume": whole, "snapshots": saved.append}
    for asked in (explain, minimum):
        with pytest.raises(KeyboardInterrupt):
            asked(digits.network(), digits.images()[15], **options)
    assert saved == []


@pytest.mark.slow
def test_explanations_go_on_from_minima_and_from_files(tmp_path: Path) -> None:
    x, network = digits.images()[15], digits.network()
    least = minimum(network, x, epsilon=0.05)
    assert explain(network, x, epsilon=0.05, resume=least).size == least.size
    old = FIXTURES / "results" / "explanation.json"
    told = Explanation.from_json(old)
    index = next(i for i, image in enumerate(digits.images()) if (image == told.input).all())
    again = explain(network, digits.images()[index], epsilon=told.epsilon, resume=old)
    assert again.explanation == told.explanation


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"epsilon": 0.11}, "epsilon is 0.1, now it is 0.11"),
        ({"norm": "l2"}, "norm is linf, now it is l2"),
        ({"domain": (-1.0, 1.0)}, "domain is .0.0, 1.0., now it is .-1.0, 1.0."),
        ({"features": [[2 * i, 2 * i + 1] for i in range(32)]}, "division into features differs"),
        ({"against": [3]}, "against is None, now it is .3,."),
        ({"delta": 0.5}, "prediction differs|delta"),
        ({"x": digits.images()[11]}, "input differs"),
    ],
)
def test_another_question_is_refused(change: dict[str, Any], name: str) -> None:
    asked = {"x": digits.images()[15], "epsilon": 0.1, **change}
    with pytest.raises(InputError, match=f"another question: its ({name})"):
        explain(digits.network(), **asked, resume=digits.explained(15))


def test_another_network_is_refused(tmp_path: Path) -> None:
    model = onnx.load(digits.MODEL)
    model.graph.node.append(node("Identity", [model.graph.output[0].name], ["again"]))
    model.graph.output[0].name = "again"
    other = load_network(model)
    with pytest.raises(InputError, match="its network's SHA-256 differs"):
        explain(other, digits.images()[15], epsilon=0.1, resume=digits.explained(15))


@pytest.mark.parametrize(
    ("given", "message"),
    [(3, "got int"), ("none.json", "cannot read"), ("{}", "is no result of milp-verix")],
)
def test_other_things_are_no_results(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(digits.network(), digits.images()[15], epsilon=0.1, resume=given)


def test_the_command_line_goes_on_from_what_it_wrote(tmp_path: Path) -> None:
    whole, path = digits.explained(15), tmp_path / "earlier.json"
    kept = dict.fromkeys(whole.explanation[3:], "time limit")
    known = {f: c for f, c in whole.counterfactuals.items() if f not in kept}
    replace(whole, unknown_reasons=kept, counterfactuals=known).to_json(path)
    question = (digits.MODEL, SEVEN, "--epsilon", 0.1, "--quiet", "--json", path)
    done = run_here("explain", *question, "--resume", path)
    assert done.returncode == 0, done.stderr
    again = Explanation.from_json(path)
    assert again.explanation == whole.explanation
    assert again.statistics.flips >= len(kept)
    done = run_here("explain", *question[:3], 0.2, "--resume", path)
    assert done.returncode == 2
    assert "its epsilon is 0.1, now it is 0.2" in " ".join(done.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize("rules", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_described_inputs_go_on(seed: int, rules: bool, tmp_path: Path) -> None:
    described = mixed_case(seed, rules=rules)
    network = described.network(tmp_path)
    options: dict[str, Any] = {"epsilon": described.epsilon, "inputs": described.inputs}
    order = list(range(len(described.features)))
    saved: list[Callable[[], Explanation]] = []
    whole = explain(network, described.point, order=order, **options, snapshots=saved.append)
    for snapshot in saved:
        path = written(snapshot(), tmp_path)
        again = explain(network, described.point, order=order, **options, resume=path)
        assert again.explanation == whole.explanation == described.explanation(order)
        least = minimum(network, described.point, **options, resume=path)
        assert least.proven
        assert least.size == described.least_explanation()
