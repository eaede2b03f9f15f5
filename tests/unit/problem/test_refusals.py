"""Refusals say what was meant, what to give and by what to rescale; results that are equal."""

import copy
import json
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

import milp_verix as mv
from tests.support.repository import EXAMPLES

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
ROWS = np.random.default_rng(0).random((200, 4))


@pytest.fixture(scope="module")
def network() -> Any:
    labels = ROWS[:, 0] + ROWS[:, 1] > 1
    return mv.load_network(MLPClassifier((6,), max_iter=60, random_state=0).fit(ROWS, labels))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, r"missing 1 required keyword-only argument: 'epsilon': give how far .* epsilon=0.1"),
        ({"epsilon": 0.1, "sovler": "highs"}, "'sovler'; did you mean 'solver'"),
        ({"epsilon": 0.1, "solver": "hihgs"}, "did you mean 'highs'"),
        ({"epsilon": 0.1, "solver": "highs?presolv=on"}, "did you mean 'presolve'"),
        ({"epsilon": 0.1, "order": "influense"}, "did you mean 'influence'"),
        ({"epsilon": 0.1, "bounds": "crwon"}, "did you mean 'crown'"),
        ({"epsilon": 0.1, "traversal": "binry"}, "did you mean 'binary'"),
        ({"epsilon": 0.1, "norm": "linff"}, "did you mean 'linf'"),
        ({"epsilon": 0.1, "formulation": "big_n"}, "did you mean 'big_m'"),
        ({"epsilon": 0.1, "formulation": "partitoin"}, "did you mean 'partition'"),
        ({"epsilon": 0.1, "features": "pixel"}, "did you mean 'pixels'"),
        ({"epsilon": 0.1, "warm": "atuo"}, "did you mean 'auto'"),
        ({"epsilon": 0.1, "exactness": "exat"}, "did you mean 'exact'"),
        ({"epsilon": 0.1, "tolerances": {"margn": 1e-6}}, "did you mean 'margin'"),
    ],
)
def test_an_option_that_is_unknown_or_missing_is_told_with_a_remedy(
    network: Any, asked: dict[str, Any], told: str
) -> None:
    with pytest.raises((mv.InputError, TypeError), match=told) as raised:
        mv.explain(network, ROWS[0], **asked)
    assert all(len(line) <= 400 for line in str(raised.value).splitlines())


STUDY: dict[str, Any] = {"epsilon": 0.1, "journal": "study"}
OTHER_CALLS: dict[str, Callable[[Any], object]] = {
    "order": lambda n: mv.explain_many(n, ROWS[:1], **STUDY, grid={"ordr": ["margin"]}),
    "failed": lambda n: mv.explain_many(n, ROWS[:1], **STUDY, retry=["faild"]),
    "sos1": lambda n: mv.compare(n, ROWS[0], epsilon=0.1, formulations=["sos2"]),
    "features": lambda n: mv.contrastive(n, ROWS[0], epsilon=0.1, minimise="featurs"),
    "shapley": lambda n: mv.importance(n, ROWS[0], epsilon=0.1, index="shapely"),
    "up": lambda _: mv.continuous("age", 0, 1, only="upp"),
    "svg": lambda n: mv.explain(n, ROWS[0], epsilon=0.1).plot("x.sgv"),
    "margin": lambda _: mv.Tolerances(margn=1e-6),  # type: ignore[call-arg]
    "segments": lambda n: mv.VerixFormulation(n, segmenst=3),  # type: ignore[call-arg]
    "add": lambda _: mv.Message.of(None, "a text", ad=["word"]),  # type: ignore[call-arg]
    "logits": lambda _: mv.load_network(EXAMPLES / "digits.onnx", output="logit"),
}


@pytest.mark.parametrize("meant", OTHER_CALLS)
def test_a_wrong_word_in_any_call_is_met_with_the_closest(
    network: Any, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((mv.InputError, TypeError), match=f"did you mean {meant!r}"):
        OTHER_CALLS[meant](network)


def test_a_problem_without_a_radius_asks_for_one(network: Any) -> None:
    with pytest.raises(TypeError, match=r"Problem\(\) missing .*'epsilon': give how far inputs"):
        mv.Problem(network, ROWS[0])
    with pytest.raises(TypeError, match=r"'epsilom'; did you mean 'epsilon'\?"):
        mv.Problem(network, ROWS[0], epsilom=0.1)


def test_a_long_line_keeps_its_beginning_and_its_remedy() -> None:
    error = mv.InputError(f"the columns are {'a, ' * 400}: rename them\nsecond")
    first, second = str(error).splitlines()
    assert (len(f"error: {first}") <= 400, second) == (True, "second")
    assert first.startswith("the columns are a, ")
    assert first.endswith(": rename them")


def test_bytes_beside_a_unit_domain_are_divided_by_255(network: Any) -> None:
    with pytest.raises(mv.InputError, match=r"rescale the input \(x / 255, if it is 0 to 255\)"):
        mv.explain(network, np.array([0.0, 17.0, 255.0, 3.0]), epsilon=0.1)
    for x, way in (
        ([0.0, -1.0, 255.0, 3.0], r"such as domain=\(-1, 255\), or scale the input as that data"),
        ([0.0, 1.02, 0.5, 0.1], r"the domain of the model's data, such as domain=\(0, 1\.02\)"),
        ([0.0, 16.0, 7.0, 3.0], r"such as domain=\(0, 16\), or scale"),
        ([0.0, 1.0000001, 0.5, 0.1], r"by rounding, it seems; numpy\.clip\(x, 0, 1\) is inside"),
        ([-1e-9, 0.3, 0.5, 0.1], r"numpy\.clip\(x, 0, 1\)"),
    ):
        with pytest.raises(mv.InputError, match=way):
            mv.explain(network, np.array(x), epsilon=0.1)
    ends = np.zeros(4), np.array([1.0, 1, 1, 2])
    with pytest.raises(mv.InputError, match=r"numpy\.clip\(x, lower, upper\)"):
        mv.explain(network, np.array([0.0, 1.0000001, 0.5, 0.1]), epsilon=0.1, domain=ends)


def test_a_row_outside_of_the_ranges_is_told_how_to_widen_them() -> None:
    table = pd.DataFrame(ROWS, columns=["age", "wage", "debt", "rate"])
    model = RandomForestClassifier(3).fit(table, ROWS[:, 0] > 0.5)
    inputs = mv.Inputs.from_frame(table)
    row = {**table.iloc[0], "age": 3.0}
    with pytest.raises(mv.InputError, match=r"widen the range by .*ranges=\{'age': \(lower, u"):
        mv.explain(model, row, epsilon="inf", inputs=inputs)


def test_words_without_an_encoder_are_referred_to_the_frame() -> None:
    table = pd.DataFrame({"city": pd.Categorical(["Rome", "Oslo"] * 30), "n": range(60)})
    trees = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=3)
    pipeline = make_pipeline(trees).fit(table, [0, 1] * 30)
    with pytest.raises(mv.InputError, match=r"Inputs.from_frame\(frame\) describes words"):
        mv.Inputs.from_pipeline(pipeline, table)


def test_a_mask_of_floats_is_a_mask(network: Any) -> None:
    mask = np.array([1.0, 0.0, 0.0, 1.0])
    assert mv.audit(network, ROWS[0], mask, epsilon=0.1).explanation == (0, 3)
    assert mv.contrastive(network, ROWS[0], epsilon=0.3, must_not=mask).must_not == (0, 3)
    with pytest.raises(mv.InputError):
        mv.audit(network, ROWS[0], mask + 0.5, epsilon=0.1)


class _Tensor:
    """What a tensor of PyTorch that requires a gradient does."""

    requires_grad = True

    def __init__(self, values: Any) -> None:
        self._values = values

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def detach(self) -> Any:
        return self

    def cpu(self) -> Any:
        return self._values


def test_a_tensor_that_requires_a_gradient_is_read(network: Any) -> None:
    found = mv.explain(network, _Tensor(ROWS[0]), epsilon=0.1)  # type: ignore[arg-type]
    assert found == copy.deepcopy(found)
    assert found.explanation == mv.explain(network, ROWS[0], epsilon=0.1).explanation


def test_tensors_are_read_in_every_argument_of_arrays(network: Any, tmp_path: Path) -> None:
    x, zeros, ones, radii = ROWS[0], np.zeros(4), np.ones(4), np.full(4, 0.1)
    table, lists = _Tensor(ROWS[:3]), [_Tensor(row) for row in ROWS[:3]]
    asks: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
        (mv.explain, (x,), {"domain": (_Tensor(zeros), _Tensor(ones))}),
        (mv.explain, (x,), {"epsilon": _Tensor(radii)}),
        (mv.explain, (x,), {"epsilon": [_Tensor(np.array(one)) for one in radii]}),
        (mv.explain, (x,), {"order": _Tensor(np.arange(4))}),
        (mv.explain, (x,), {"label": np.argmax(network.evaluate(x), keepdims=True).reshape(())}),
        (mv.explain, (x,), {"time_limit": _Tensor(np.array(30.0))}),
        (mv.minimum, (x,), {"costs": _Tensor(ones)}),
        (mv.importance, (x,), {"beside": _Tensor(ROWS[1])}),
        (mv.audit, (x, _Tensor(zeros)), {}),
        (mv.check, (x, _Tensor(np.array([0, 1]))), {}),
        (mv.contrastive, (x,), {"must_not": _Tensor(zeros)}),
        (mv.inflate, (x,), {"rows": table}),
        (mv.find_rules, (lists,), {}),
        (mv.explain_many, (table,), {"journal": tmp_path / "journal.jsonl"}),
        (mv.epsilon_sweep, (x,), {"epsilons": _Tensor(np.array([0.1, 0.2]))}),
    ]
    for ask, given, options in asks:
        radius = {} if "epsilons" in options else {"epsilon": 0.1}
        ask(network, *given, **{**radius, **options})
    problem = mv.Problem(network, x, epsilon=_Tensor(radii), domain=(_Tensor(zeros), 1.0))  # type: ignore[arg-type]
    assert problem == mv.Problem(network, x, epsilon=radii)


@pytest.mark.parametrize("radii", [np.array([True, False, True, True]), [True, 0.1, 0.1, 0.1]])
def test_truth_values_are_no_radii(network: Any, radii: Any) -> None:
    described = mv.Inputs.from_frame(pd.DataFrame(ROWS, columns=[*"abcd"]))
    for options in ({}, {"inputs": described}):
        with pytest.raises(mv.InputError, match=r"epsilon is True, expected a number such as 0\.5"):
            mv.explain(network, ROWS[0], epsilon=radii, **options)
    with pytest.raises(mv.InputError, match="epsilon must be a number, got True"):
        mv.explain(network, ROWS[0], epsilon=True)
    with pytest.raises(mv.InputError, match="epsilons are numbers"):
        mv.epsilon_sweep(network, ROWS[0], epsilons=np.array([True, False]))
    with pytest.raises(mv.InputError, match="epsilon is 1j, expected"):
        mv.explain(network, ROWS[0], epsilon=np.full(4, 1j))


def _timeless(data: Any) -> Any:
    """Return a result's JSON without seconds, which traces and stages hold, too."""
    if isinstance(data, dict):
        timed = ("versions", "trace", "stages")
        return {k: _timeless(v) for k, v in data.items() if "seconds" not in k and k not in timed}
    return [*map(_timeless, data)] if isinstance(data, list) else data


@pytest.mark.parametrize("ask", [mv.explain, mv.minimum, mv.contrastive, mv.inflate])
def test_equal_questions_have_equal_results_but_for_seconds(
    network: Any, ask: Callable[..., Any]
) -> None:
    first, second = (ask(network, ROWS[0], epsilon=0.2) for _ in range(2))
    assert copy.deepcopy(first) == first
    assert hash(copy.copy(first)) == hash(first)
    assert first != ask(network, ROWS[0], epsilon=0.25)
    assert _timeless(json.loads(first.to_json())) == _timeless(json.loads(second.to_json()))


def test_checks_and_rules_are_copied_and_pickled(network: Any) -> None:
    described = mv.Inputs.from_frame(pd.DataFrame(ROWS, columns=[*"abcd"]))
    for radius, inputs in ((0.2, None), ("10%", described)):
        asked: dict[str, Any] = {"epsilon": radius, "inputs": inputs}
        check = mv.check(network, ROWS[0], [0, 1, 2, 3], **asked)
        rules = mv.find_rules(network, ROWS[:4], **asked)
        for found in (check, rules):
            for copied in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
                assert copied == found
                assert hash(copied) == hash(found)
                assert copied.sentence() == found.sentence()
        assert check != mv.check(network, ROWS[0], [0, 1, 2], **asked)
        assert rules != mv.find_rules(network, ROWS[4:8], **asked)
    assert check != rules


@pytest.mark.parametrize("task", ["check", "explain"])
def test_comparisons_and_their_parts_equal_their_copies(network: Any, task: str) -> None:
    asked: dict[str, Any] = {"solvers": ["highs", "phase"], "task": task}
    found = mv.compare(network, ROWS[0], epsilon=0.2, **asked)
    explanation = mv.explain(network, ROWS[0], epsilon=0.2)
    counterfactual = mv.Counterfactual(ROWS[0].copy(), 1)
    for one in (found, found.runs[0], explanation.certify(network), counterfactual):
        for copied in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert copied == one
            assert hash(copied) == hash(one)
    assert found != mv.compare(network, ROWS[0], epsilon=0.25, **asked)
    assert found.runs[0] != found.runs[1]


def test_progress_prints_as_one_short_line(network: Any) -> None:
    told: list[str] = []
    mv.explain(network, ROWS[0], epsilon=0.2, progress=lambda p: told.append(str(p)))
    mv.audit(network, ROWS[0], [0], epsilon=0.2, progress=lambda p: told.append(str(p)))
    assert told
    assert max(map(len, told)) < 200


@pytest.mark.parametrize("solver", ["scip?limits/nodes=0", "highs?mip_max_nodes=0"])
def test_a_limit_of_nodes_is_no_numerical_trouble(solver: str) -> None:
    pytest.importorskip("pyscipopt" if "scip" in solver else "highspy")
    rng = np.random.default_rng(1)
    rows = rng.random((300, 8))
    labels = rows[:, 0] * rows[:, 1] + rows[:, 2] * rows[:, 3] > 0.5
    hard = MLPClassifier((40, 40), max_iter=300, random_state=0).fit(rows, labels)
    asked: dict[str, Any] = {"free": range(8), "solver": solver}
    radii = (0.1, 0.15, 0.2)
    found = [mv.check(hard, rows[2], epsilon=r, bounds="interval", **asked) for r in radii]
    reasons = {one.reason for one in found}
    assert "node limit" in reasons
    assert reasons <= {"node limit", None}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (lambda n: mv.explain(n, ROWS[0], eps=0.1), "did you mean .epsilon."),
        (lambda _: mv.Search(time_limt=1), r"Search\(\) .*did you mean 'time_limit'"),
        (lambda _: mv.continuous("a", 0, 1, unti="s"), r"continuous\(\) .*did you mean 'unit'"),
        (lambda _: mv.Inputs([], ruls=[]), r"Inputs\(\) .*did you mean 'rules'"),
        (lambda _: mv.Inputs.from_frame(None, unti={}), r"from_frame\(\) .*did you mean 'units'"),
        (lambda _: mv.Inputs.from_pipeline(None, None, mising=()), "did you mean 'missing'"),
        (lambda _: mv.load_network(None, exmple=0), r"load_network\(\) .*did you mean 'example'"),
    ],
)
def test_an_unknown_option_of_any_call_is_told_with_the_closest(asked: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        asked(None)


@pytest.mark.parametrize("suffix", ["", ".onnx", ".txt"])
def test_a_path_that_no_system_takes_is_refused(suffix: str) -> None:
    with pytest.raises(mv.ModelError, match="File name too long") as raised:
        mv.load_network("z" * 5000 + suffix)
    assert len(str(raised.value)) <= 400


def test_a_single_radius_in_an_array_is_counted_in_the_singular(network: Any) -> None:
    with pytest.raises(mv.InputError, match="epsilon has 1 radius, but there are 4 features"):
        mv.explain(network, ROWS[0], epsilon=np.array([0.1]))


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda one, _: one.sentence(np.zeros(3)), "has no counterfactual"),
        (lambda one, _: one.sentence({1}), "has no counterfactual"),
        (lambda one, net: net.scores_at(nested()), "the input is not an array"),
        (lambda one, net: mv.certify(net, one).to_json(3), "path must be the path of a file"),
        (lambda one, net: mv.check(net, ROWS[0], [], epsilon=0).point, "the claim is not refuted"),
        (lambda one, net: mv.check(net, ROWS[0], [], epsilon=0, features=3), "int is no list"),
        (lambda one, net: mv.explain(net, ROWS[0], epsilon=range(10**9)), "a range of more than"),
        (lambda one, net: mv.write_report("a" * 5000, "b.html"), "must be the path of a file"),
        (lambda one, net: mv.Feature("a", "integer", values=Path("b")), "values are a list"),
    ],
)
def test_values_of_other_kinds_are_refused_in_our_words(
    ask: Callable[[Any, Any], Any], told: str, network: Any
) -> None:
    """They ended in errors of Python and NumPy."""
    one = mv.explain(network, ROWS[0], epsilon=0.01)
    assert not one.same_answer(np.zeros(3))
    with pytest.raises(mv.InputError, match=told):
        ask(one, network)


def nested() -> list[Any]:
    """Return a list that holds itself."""
    found: list[Any] = [1]
    found.append(found)
    return found


@pytest.mark.parametrize("path", ["radii.npy", Path("radii.npy"), Path("radii")])
def test_a_path_in_the_place_of_radii_is_to_be_read_first(
    network: Any, path: Any, tmp_path: Path
) -> None:
    described = mv.Inputs.from_frame(pd.DataFrame(ROWS, columns=[*"abcd"]))
    told = r"is the path 'radii.*', expected numbers: read the file first, by numpy\.load"
    for options in ({}, {"inputs": described}):
        with pytest.raises(mv.InputError, match=f"epsilon {told}"):
            mv.explain(network, ROWS[0], epsilon=path, **options)
        with pytest.raises(mv.InputError, match=f"epsilons {told}"):
            mv.epsilon_sweep(network, ROWS[0], epsilons=[path], **options)
        with pytest.raises(mv.InputError, match=f"epsilon {told}"):
            mv.explain_many(
                network, ROWS[:2], epsilon=path, journal=tmp_path / "j.jsonl", **options
            )


def test_methods_of_our_objects_refuse_other_arguments_in_words(network: Any) -> None:
    described = mv.Inputs.from_frame(pd.DataFrame(ROWS, columns=[*"abcd"]))
    problem = mv.Problem(network, ROWS[0], epsilon="inf", inputs=described)
    ranges, contrast, feature = problem.inflate([0]), problem.contrastive(), described.features[0]
    calls: list[Callable[[Any], Any]] = [
        described.coded,
        described.placed,
        mv.category("w", ["u", "v"]).code_of,
        mv.category("w", ["u", "v"]).unknown,
        feature.text,
        network.described,
        network.evaluate_many,
        network.placed,
        ranges.refuse_other,
        lambda one: contrast.cost_of(one, contrast.counterfactual),
        lambda one: contrast.cost_of((0,), one),
        lambda one: ranges.holds(one, ROWS[0]),
        lambda one: ranges.holds(ranges.ranges[0], one),
        mv.SearchLimits().uses,
    ]
    for call in calls:
        for other in (5, "zzz", [None], {"zzz": 1}, np.zeros((2, 2)), pd.DataFrame({"q": [1]})):
            with suppress(mv.InputError):  # but nothing else
                call(other)
    with pytest.raises(mv.InputError, match="one must be an object of the class FeatureRange"):
        ranges.holds(0, ROWS[0])  # type: ignore[arg-type]
    with pytest.raises(mv.InputError, match=r"the point has shape \(2,\), expected \(4,\)"):
        ranges.holds(ranges.ranges[0], np.zeros(2))
    assert ranges.holds(ranges.ranges[0], ROWS[0])
