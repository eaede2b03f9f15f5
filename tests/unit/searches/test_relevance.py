"""The part of protected features against the enumeration of all minimal explanations."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import milp_verix
from milp_verix import Relevance
from milp_verix.base.errors import InputError
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.results.base import Counterfactual
from tests.support.interrupts import interrupt
from tests.support.mixed_domains import MixedCase, mixed_case


def _role(case: MixedCase, protected: set[int]) -> str:
    """Return the role by the definition: over the list of all minimal explanations."""
    abductive, contrastive = case.minimal()
    hit = [bool(protected & {*explanation}) for explanation in abductive]
    assert any(hit) == any(protected & {*contrast} for contrast in contrastive)
    return "necessary" if all(hit) else "relevant" if any(hit) else "irrelevant"


def _asked(case: MixedCase, folder: Path, protected: tuple[int, ...], **more: object) -> Relevance:
    names = [case.features[index].name for index in protected]
    options: dict[str, object] = {"epsilon": case.epsilon, "inputs": case.inputs, **more}
    return milp_verix.relevance(case.network(folder), case.point, names, **options)


def _refuse_wrong_evidence(case: MixedCase, network: OnnxNetwork, found: Relevance) -> None:
    """Assert that the evidence shows what it says, by the list of points."""
    assert found.free is not None
    assert found.counterfactual is not None
    assert case.holds(found.free)
    every = range(len(case.features))
    listed = [case.placed(point) for point in case.points([*found.free, *found.features])]
    changed = found.counterfactual.input.reshape(-1)
    assert any(np.array_equal(changed, point) for point in listed)
    original = int(np.argmax(network.evaluate(case.point)))
    assert int(np.argmax(network.evaluate(changed))) != original
    if found.necessary:
        assert found.free == ()
        assert found.pair is not None
    if found.pair is None:
        assert case.inputs.rules
        return
    first, second = (one.reshape(-1) for one in found.pair)
    assert any(np.array_equal(first, case.placed(point)) for point in case.points(every))
    assert int(np.argmax(network.evaluate(first))) == original
    moved = {i for i, group in enumerate(case.inputs.groups) if np.any((first != second)[group])}
    assert moved <= {*found.features}


@pytest.mark.slow
@pytest.mark.parametrize("rules", [False, True], ids=["free", "rules"])
@pytest.mark.parametrize("seed", range(100, 125))
def test_roles_are_those_of_enumeration(seed: int, rules: bool, tmp_path: Path) -> None:
    case = mixed_case(seed, rules=rules)
    network, every = case.network(tmp_path), range(len(case.features))
    for protected in [(index,) for index in every] + [*combinations(every, 2)][::3]:
        found = _asked(case, tmp_path, protected)
        assert found.role == _role(case, {*protected})
        assert found.unknown_reason is None
        again = Relevance.from_json(found.to_json())
        assert again.to_json() == found.to_json()
        assert any(name in found.sentence() for name in found.names)
        if found.relevant:
            _refuse_wrong_evidence(case, network, found)
            assert again.replay(network)


def test_cases_have_every_role() -> None:
    roles = {
        _role(mixed_case(seed, rules=rules), {index})
        for seed in range(100, 110)
        for rules in (False, True)
        for index in range(3)
    }
    assert roles == {"necessary", "relevant", "irrelevant"}


@pytest.mark.parametrize("seed", range(100, 108))
def test_checks_without_an_answer_lead_to_no_wrong_role(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, check = mixed_case(seed, rules=False), Oracle.check
    rng, unknown = np.random.default_rng(seed), 0

    def forgetful(*arguments: object, **options: object) -> Verdict:
        if rng.random() < 0.4:
            return Verdict(Answer.UNKNOWN, reason="forgotten")
        return check(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Oracle, "check", forgetful)
    for index in range(len(case.features)):
        found, role = _asked(case, tmp_path, (index,)), _role(case, {index})
        assert found.necessary in (None, role == "necessary")
        assert found.relevant in (None, role != "irrelevant")
        if found.relevant:
            _refuse_wrong_evidence(case, case.network(tmp_path), found)
        is_open = None in (found.necessary, found.relevant)
        assert (found.unknown_reason == "forgotten") == is_open
        unknown += is_open
    assert seed != 100 or unknown


def test_no_time_leaves_every_answer_open(tmp_path: Path) -> None:
    case = mixed_case(100, rules=False)
    found = _asked(case, tmp_path, (0,), time_limit=1e-9)
    assert (found.role, found.necessary, found.relevant) == ("unknown", None, None)
    assert found.unknown_reason == "time limit"
    assert found.pair is None


def test_ctrl_c_leaves_what_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = mixed_case(100, rules=False)
    index = next(i for i in range(5) if _role(case, {i}) != "necessary")

    monkeypatch.setattr("milp_verix.searches.set_search.Candidates.propose", interrupt)
    found = _asked(case, tmp_path, (index,))
    assert (found.necessary, found.relevant) == (False, None)
    assert found.statistics.stopped == found.unknown_reason == "interrupted"


@pytest.mark.parametrize("wrong", ["age", 17, -1, [], 1.5, ["first one", "nobody"]])
def test_unknown_features_are_refused(wrong: object, tmp_path: Path) -> None:
    case = mixed_case(100, rules=False)
    with pytest.raises(InputError, match="feature"):
        milp_verix.relevance(
            case.network(tmp_path),
            case.point,
            wrong,  # type: ignore[arg-type]
            epsilon=case.epsilon,
            inputs=case.inputs,
        )


def _relevant(tmp_path: Path) -> tuple[Relevance, OnnxNetwork]:
    """Return a result with a pair whose protected feature is not necessary, and its network."""
    for seed in range(100, 125):
        case = mixed_case(seed, rules=False)
        for index in range(len(case.features)):
            if _role(case, {index}) == "relevant":
                return _asked(case, tmp_path, (index,)), case.network(tmp_path)
    raise AssertionError("no case has a relevant feature")


def test_a_pair_that_proves_nothing_does_not_replay(tmp_path: Path) -> None:
    found, network = _relevant(tmp_path)
    assert found.pair is not None
    assert found.counterfactual is not None
    assert found.replay(network)
    kept = Counterfactual(found.pair[0], found.counterfactual.prediction)
    assert not replace(found, counterfactual=kept).replay(network)
    with pytest.raises(ValueError, match="other than its own"):
        replace(found, unchanged=found.counterfactual.input)
    nothing = {"relevant": None, "counterfactual": None, "free": None, "unchanged": None}
    late = replace(found, **nothing, unknown_reason="time limit")  # type: ignore[arg-type]
    assert "It is open if" in late.sentence()


@pytest.mark.parametrize(
    "fields",
    [
        {"necessary": True},
        {"relevant": False},
        {"relevant": None},
        {"free": None},
        {"unknown_reason": "time limit"},
    ],
)
def test_a_result_does_not_contradict_itself(fields: dict[str, object], tmp_path: Path) -> None:
    found, _ = _relevant(tmp_path)
    with pytest.raises(ValueError, match=r"relevan|necessary|kept it"):
        replace(found, **fields)  # type: ignore[arg-type]


def test_snapshots_and_progress_tell_the_answers_so_far(tmp_path: Path) -> None:
    case, taken, told = mixed_case(100, rules=False), [], []
    found = _asked(
        case,
        tmp_path,
        (0,),
        snapshots=lambda now: taken.append(now()),
        progress=told.append,
    )
    assert taken[0].role == "unknown"
    assert taken[0].unknown_reason == "unknown"
    assert len(taken) == len(told) >= 1
    assert told[-1].checks <= found.statistics.checks
    assert not Relevance.from_json(taken[0].to_json()).settled
