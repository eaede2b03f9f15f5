"""Importance against its definitions over lists of all points, and what a search leaves open."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import milp_verix
from milp_verix import Importance, InputError
from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import INTERRUPTED, Answer, Verdict
from milp_verix.results.earlier import EarlierResultError
from milp_verix.results.power_indices import INDICES
from tests.support.command_line import run_here
from tests.support.digits_example import MODEL, images
from tests.support.mixed_domains import MixedCase, mixed_case
from tests.support.power_indices import defined_indices


def _values(case: MixedCase) -> dict[str, list[Fraction]]:
    abductive, _ = case.minimal()
    return defined_indices([frozenset(one) for one in abductive], len(case.features))


def _asked(case: MixedCase, network: OnnxNetwork, **more: object) -> Importance:
    options: dict[str, object] = {"epsilon": case.epsilon, "inputs": case.inputs, **more}
    return milp_verix.importance(network, case.point, **options)


def _refuse_wrong(found: Importance, values: dict[str, list[Fraction]]) -> None:
    """Assert that all brackets hold their values, by every index."""
    for name in INDICES:
        other = found.under(name)
        ends = zip(values[name], other.lower, other.upper, other.values, strict=True)
        for value, low, high, middle in ends:
            assert low <= middle <= high
            if low == high:
                assert low == float(value)
            else:
                assert Fraction(low) <= value <= Fraction(high)


@pytest.mark.parametrize("rules", [False, True], ids=["free", "rules"])
@pytest.mark.parametrize("seed", range(100, 140))
def test_values_are_those_of_the_definitions(seed: int, rules: bool, tmp_path: Path) -> None:
    case = mixed_case(seed, rules=rules)
    network, values = case.network(tmp_path), _values(case)
    for name in INDICES:
        found = _asked(case, network, index=name)
        assert found.exact
        assert found.complete
        assert found.unknown_reason is None
        assert found.values == found.lower == found.upper == tuple(map(float, values[name]))
        assert found.replay(network) == ()
    _refuse_wrong(found, values)
    again = Importance.from_json(found.to_json())
    assert again.to_json() == found.to_json()
    assert again.values == found.values
    assert str(found.exact).lower() in found.to_json()


@pytest.mark.parametrize("share", [0.1, 0.4, 0.9])
@pytest.mark.parametrize("seed", range(100, 130))
def test_brackets_hold_the_values_where_checks_have_no_answer(
    seed: int, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, check = mixed_case(seed, rules=False), Oracle.check
    rng = np.random.default_rng(seed)

    def forgetful(*arguments: object, **options: object) -> Verdict:
        if rng.random() < share:
            return Verdict(Answer.UNKNOWN, reason="forgotten")
        return check(*arguments, **options)  # type: ignore[arg-type]

    network, values = case.network(tmp_path), _values(case)
    with monkeypatch.context() as patched:
        patched.setattr(Oracle, "check", forgetful)
        found = _asked(case, network, index="shapley")
    _refuse_wrong(found, values)
    if found.complete:
        assert found.exact
    else:
        assert found.unknown_reason is not None
    more = _asked(case, network, index="shapley", resume=found)
    assert more.exact
    _refuse_wrong(more, values)


def test_each_snapshot_is_a_bracket(tmp_path: Path) -> None:
    case = mixed_case(103, rules=False)
    network, values, widths = case.network(tmp_path), _values(case), []

    def judge(snapshot: object) -> None:
        found = snapshot()  # type: ignore[operator]
        _refuse_wrong(found, values)
        widths.append(sum(found.upper) - sum(found.lower))

    _asked(case, network, snapshots=judge)
    assert widths[0] > 0
    assert widths[-1] == 0
    assert all(after <= before for before, after in pairwise(widths))


def test_no_time_proves_nothing_yet(tmp_path: Path) -> None:
    case = mixed_case(100, rules=False)
    network = case.network(tmp_path)
    found = _asked(case, network, time_limit=1e-9)
    assert not found.exact
    assert found.statistics.stopped == "time limit"
    _refuse_wrong(found, _values(case))
    assert "time limit" in found.sentence()


def test_ctrl_c_keeps_the_bracket_and_a_later_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, check, calls = mixed_case(103, rules=False), Oracle.check, 0
    network = case.network(tmp_path)

    def interrupted(oracle: Oracle, free: np.ndarray, deadline: Deadline = NO_LIMIT) -> Verdict:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return check(oracle, free, deadline)

    with monkeypatch.context() as patched:
        patched.setattr(Oracle, "check", interrupted)
        found = _asked(case, network)
    assert found.statistics.stopped == INTERRUPTED
    assert found.sufficient or found.contrasts
    _refuse_wrong(found, _values(case))
    found.to_json(tmp_path / "found.json")
    whole = _asked(case, network)
    more = _asked(case, network, resume=tmp_path / "found.json", index="holler-packel")
    assert more.exact
    assert more.under("shapley").values == whole.values
    assert more.statistics.checks < whole.statistics.checks
    assert any("proven again" in note for note in more.notes)
    with pytest.raises(EarlierResultError, match="another question"):
        _asked(case, network, epsilon=0, resume=found)


def test_a_false_claim_of_an_earlier_result_is_not_taken_over(tmp_path: Path) -> None:
    case = mixed_case(103, rules=False)
    network, values = case.network(tmp_path), _values(case)
    lie = replace(
        _asked(case, network, time_limit=1e-9), sufficient=((0,),), contrasts=(), complete=False
    )
    assert not case.holds(range(1, len(case.features)))
    found = _asked(case, network, resume=lie)
    assert found.exact
    _refuse_wrong(found, values)


def test_scores_by_another_tool_are_compared(tmp_path: Path) -> None:
    case = mixed_case(103, rules=False)
    network = case.network(tmp_path)
    plain = _asked(case, network)
    assert plain.misordered == ()
    right = _asked(case, network, beside=plain.values)
    assert right.misordered == ()
    signed = [-value for value in plain.values]
    assert _asked(case, network, beside=signed).misordered == ()
    wrong = _asked(case, network, beside=[1 - value for value in plain.values])
    values = plain.values
    every = range(len(values))
    expected = {(a, b) for a in every for b in every if values[a] < values[b]}
    assert {*wrong.misordered} == expected
    assert expected
    worst = max(expected, key=lambda pair: values[pair[1]] - values[pair[0]])
    names = [feature.name for feature in case.features]
    assert f"{names[worst[0]]} before {names[worst[1]]}" in wrong.sentence()
    # where nothing is proven, no order is refuted
    open_ = _asked(case, network, beside=wrong.beside, time_limit=1e-9)
    assert open_.misordered == ()
    coordinates = np.arange(case.point.size, dtype=float)
    summed = _asked(case, network, beside=coordinates).beside
    assert summed == tuple(float(coordinates[group].sum()) for group in case.inputs.groups)


@pytest.mark.parametrize("beside", [[1.0], [np.nan] * 3, ["a", "b", "c"], [[1, 2], [3]]])
def test_scores_that_do_not_fit_are_refused(beside: object, tmp_path: Path) -> None:
    case = mixed_case(103, rules=False)
    with pytest.raises(InputError, match="beside has a"):
        _asked(case, case.network(tmp_path), beside=beside)


def test_an_unknown_index_is_refused(tmp_path: Path) -> None:
    case = mixed_case(103, rules=False)
    with pytest.raises(InputError, match="choose one of shapley"):
        _asked(case, case.network(tmp_path), index="banzhaf")


def test_many_features_have_brackets_and_a_map(tmp_path: Path) -> None:
    network = milp_verix.load_network(MODEL)
    found = milp_verix.importance(network, images()[0], epsilon=0.05, time_limit=2)
    assert len(found.groups) == 64
    low, high = np.array(found.lower), np.array(found.upper)
    assert np.all(low <= high)
    assert low.sum() <= 1
    assert high.max() < 1
    found.plot(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 0


def test_the_command_tells_what_the_function_finds(tmp_path: Path) -> None:
    case = mixed_case(103, rules=False)
    network = case.network(tmp_path)
    found = _asked(case, network, index="deegan-packel", epsilon=2)
    assert network.path is not None
    np.save(tmp_path / "x.npy", case.point)
    (tmp_path / "inputs.json").write_text(json.dumps(case.inputs.to_data()))
    (tmp_path / "scores.json").write_text(json.dumps([1.0] * len(case.features)))
    written = tmp_path / "found.json"
    ended = run_here(
        *("importance", str(network.path), str(tmp_path / "x.npy")),
        *("--inputs", str(tmp_path / "inputs.json"), "--epsilon", "2"),
        *("--index", "deegan-packel", "--beside", str(tmp_path / "scores.json")),
        *("--json", str(written), "--plot", str(tmp_path / "bars.png")),
    )
    assert ended.returncode == 0, ended.stderr
    stored = Importance.from_json(written)
    assert stored.index == "deegan-packel"
    assert stored.exact
    assert stored.values == found.values
    assert stored.beside == (1.0,) * len(case.features)
    assert "Deegan-Packel" in ended.stdout
