"""Every sentence, read back by its words, is true of onnxruntime and of all points of the ball.

The question is taken from the sentence: a restriction that it leaves out is one that the listing
of all points leaves out as well, and the claim turns false.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import Inputs, OnnxNetwork
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.power_indices import INDICES
from milp_verix.views.radius_words import sweep_headline
from milp_verix.views.result_words import facts_of, title
from milp_verix.views.text_tables import remarks
from tests.support.mixed_domains import MixedCase, mixed_case
from tests.support.power_indices import defined_indices
from tests.support.random_networks import dense_network, random_layers
from tests.support.spoken_claims import SpokenClaims, spoken, spoken_importance

pytestmark = pytest.mark.slow
CLASSES = ("no", "yes", "maybe")
SEEDS = (0, 1, 3, 5)
"""Cases with three classes."""


class Asked:
    """A question about a case, and the truth about sentences that answer it."""

    def __init__(self, seed: int, folder: Path, *, compared: bool, rules: bool) -> None:
        self.case: MixedCase = mixed_case(seed, rules=rules)
        self.network: OnnxNetwork = self.case.network(folder)
        scores = self.network.evaluate(self.case.point)
        self.label = int(np.argmax(scores))
        others = [rival for rival in range(scores.size) if rival != self.label]
        self.against = (others[seed % len(others)],) if compared and len(others) > 1 else None
        self.names = tuple(feature.name for feature in self.case.features)
        self.options: dict[str, Any] = {
            "epsilon": self.case.epsilon,
            "inputs": Inputs(
                self.case.features,
                [text for text, _ in self.case.rules],
                class_names=CLASSES[: scores.size],
            ),
            "against": self.against,
        }

    def truth(self, said: SpokenClaims) -> MixedCase:
        """Return the case of the question that a sentence names, and no other restriction."""
        assert said.rules in (0, len(self.case.rules))
        matrix, bias = self.case.layers[-1]
        rivals = [CLASSES.index(name) for name in said.rivals] or range(bias.size)
        kept = sorted({self.label, *rivals})
        layers = (*self.case.layers[:-1], (matrix[kept], bias[kept]))
        # a limit that a sentence leaves out is none
        nowhere = np.inf, False
        told = [said.limits.get(name, nowhere) for name in self.names]
        wide = [max(f.upper - f.lower, 1.0) for f in self.case.features]
        reach = [r * w / 100 if share else r for (r, share), w in zip(told, wide, strict=True)]
        epsilon = dict(zip(self.names, reach, strict=True))
        ruled = self.case.rules if said.rules else ()
        return replace(self.case, layers=layers, rules=ruled, epsilon=epsilon)

    def judge(self, text: str, point: Counterfactual | None) -> SpokenClaims:
        """Check what ``text`` says; ``point`` is the counterfactual that it is about."""
        said = spoken(text, self.names)
        assert said.rules == len(self.case.rules), text
        assert said.rivals == tuple(CLASSES[rival] for rival in self.against or ()), text
        if said.becomes is not None:
            assert point is not None, text
            scores = self.network.evaluate(point.input)
            assert CLASSES.index(said.becomes) == int(np.argmax(scores)), text
            if said.above is not None:
                higher, lower = (scores[CLASSES.index(name)] for name in said.above)
                assert higher > lower, text
                assert said.above[1] == CLASSES[self.label], text
        if said.stays:
            assert said.subject == CLASSES[self.label], text
            free = [i for i, name in enumerate(self.names) if name not in said.kept]
            assert self.truth(said).holds(free), text
        return said


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize("compared", [False, True])
@pytest.mark.parametrize("rules", [False, True])
def test_sentences_are_true(seed: int, compared: bool, rules: bool, tmp_path: Path) -> None:
    asked = Asked(seed, tmp_path, compared=compared, rules=rules)
    network, x, options = asked.network, asked.case.point, asked.options
    explained = milp_verix.explain(network, x, **options)
    assert asked.judge(explained.sentence(), None).stays
    for feature, point in explained.counterfactuals.items():
        assert asked.judge(explained.sentence(feature), point).becomes is not None
    for held in ((), (seed % len(asked.names),)):
        contrast = milp_verix.contrastive(network, x, must_not=held, **options)
        said = asked.judge(contrast.sentence(), contrast.counterfactual)
        assert said.becomes or said.stays
        if said.fewest:
            assert contrast.size == asked.truth(said).least_contrast(held)
    for feature in asked.names:
        found = milp_verix.relevance(network, x, feature, **options)
        said = asked.judge(found.sentence(), found.counterfactual)
        assert (said.no_part or said.still) == (found.role == "irrelevant")
        if said.still:
            everywhere = asked.truth(said).points(range(len(asked.names)))
            assert len({point[asked.names.index(feature)] for point in everywhere}) == 1
        if said.no_part:
            least, _ = asked.truth(said).minimal()
            assert not any(asked.names.index(feature) in one for one in least)


@pytest.mark.parametrize("limit", [None, 1e-9])
@pytest.mark.parametrize("index", INDICES)
def test_sentences_on_importance_are_true(
    seed: int, index: str, limit: float | None, tmp_path: Path
) -> None:
    asked = Asked(seed, tmp_path, compared=True, rules=True)
    scores = np.random.default_rng(seed).normal(size=len(asked.names))
    found = milp_verix.importance(
        asked.network,
        asked.case.point,
        index=index,
        beside=scores,
        time_limit=limit,
        **asked.options,
    )
    text = found.sentence()
    said, told = asked.judge(text, None), spoken_importance(text, asked.names)
    least, _ = asked.truth(said).minimal()
    explanations = [frozenset(one) for one in least]
    values = dict(
        zip(asked.names, defined_indices(explanations, len(asked.names))[index], strict=True)
    )
    assert told.ends or "is 0: none is needed" in text
    assert told.exact == (limit is None or found.exact)
    for name, (low, high) in told.ends.items():
        slack = 5e-4 if low == high else 0.0
        assert low - slack <= values[name] <= high + slack, text
    # nothing is told of features that stay as they are
    values = {name: value for name, value in values.items() if said.limits.get(name) != (0, False)}
    rest = [name for name in values if name not in told.ends]
    assert all(values[name] <= told.most for name in rest), text
    assert sum(value == 0 for value in values.values()) >= told.zeros
    size = dict(zip(asked.names, np.abs(scores), strict=True))
    wrong = [(a, b) for a in values for b in values if size[a] > size[b] and values[a] < values[b]]
    assert told.wrong is not None
    assert told.wrong <= len(wrong)
    assert told.pair is None or told.pair in wrong
    assert not told.exact or told.wrong == len(wrong)


def _named(asked: Asked, text: str) -> tuple[int, ...]:
    """Return the features that a part of a sentence names."""
    return tuple(
        place
        for place, name in enumerate(asked.names)
        if re.search(rf"(?:^|[ ,;]){re.escape(name)}(?:$|[ ,;:.])", text)
    )


@pytest.mark.parametrize("limit", [None, 1e-9])
@pytest.mark.parametrize("compared", [False, True])
def test_sentences_on_audits_and_checks_are_true(
    seed: int, compared: bool, limit: float | None, tmp_path: Path
) -> None:
    asked = Asked(seed, tmp_path, compared=compared, rules=True)
    network, x, every = asked.network, asked.case.point, {*range(len(asked.names))}
    heard = set()
    for size in range(len(every) + 1):
        kept, free = {*range(size)}, sorted(every - {*range(size)})
        found = milp_verix.audit(network, x, sorted(kept), time_limit=limit, **asked.options)
        text = found.sentence()
        said = asked.judge(text, found.counterexample)
        truth = asked.truth(said)
        assert said.stays == bool(found.sound)
        words = ("None of them can", "can’t", "as well", "open", "without")
        heard |= {word for word in words if word in text}
        if "It is not enough that" in text:
            refused = text.partition("It is not enough that ")[2].partition(". ")[0]
            assert {*_named(asked, refused)} == kept
        if "It is not enough" in text:
            assert not truth.holds(free)
        for added in re.findall(r"It is enough if (.*?)(?: as well)?\.", text):
            assert truth.holds(sorted({*free} - {*_named(asked, added)})), text
        left = re.search(r"It does so without (.*?), too", text)
        spare = {*_named(asked, left[1])} if left else set()
        assert truth.holds(sorted({*free} | spare)) or not said.stays, text
        if re.search(r"None of them can be left out|It can’t be left out", text):
            assert not any(truth.holds(sorted({*free, one})) for one in kept), text
        verdict = milp_verix.check(network, x, free, time_limit=limit, **asked.options)
        point = None
        if verdict.witness is not None and verdict.prediction is not None:
            point = Counterfactual(verdict.witness, verdict.prediction, verdict.rival)
        said = asked.judge(verdict.sentence(), point)
        assert (said.stays, said.becomes is not None) == (verdict.holds, verdict.violated)
        assert verdict.summary().row_count
    assert heard >= ({"open"} if limit else {"without", "as well"})


@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("compared", [False, True])
def test_sentences_on_enumerations_are_true(
    seed: int, compared: bool, most: int | None, tmp_path: Path
) -> None:
    asked = Asked(seed, tmp_path, compared=compared, rules=True)
    found = milp_verix.enumerate_explanations(
        asked.network, asked.case.point, limit=most, **asked.options
    )
    text = found.sentence()
    said = asked.judge(text, None)
    if said.stays:
        assert found.abductive == ((),)
        return
    truths = asked.truth(said).minimal()
    for pattern, sets in zip(
        (r"explains? .*?: (.*?)\.", r"change of .*?: (.*?)\."), truths, strict=True
    ):
        told = re.search(pattern, text)
        listed = [] if told is None else told[1].split("; ")
        others = int(listed.pop().split()[0]) if listed and "other set" in listed[-1] else 0
        assert {_named(asked, one) for one in listed} <= {tuple(sorted(one)) for one in sets}
        assert len(listed) + others <= len(sets)
        if "There are no others." in text:
            assert len(listed) + others == len(sets)
    for needed in re.findall(r"Every explanation contains (.*?)\.", text):
        assert all({*_named(asked, needed)} <= {*one} for one in truths[0])


@pytest.mark.parametrize("compared", [False, True])
@pytest.mark.parametrize("each", [False, True])
def test_sentences_on_radii_are_true(seed: int, each: bool, compared: bool, tmp_path: Path) -> None:
    asked = Asked(seed, tmp_path, compared=compared, rules=True)
    options = {name: value for name, value in asked.options.items() if name != "epsilon"}
    found = milp_verix.robustness_radius(asked.network, asked.case.point, each=each, **options)
    text = found.sentence()
    said = spoken(text, asked.names)
    wide = {feature.name: feature.upper - feature.lower for feature in asked.case.features}
    if not each:
        claim = text.partition(". ")[0]
        if not said.stays:
            return
        whatever = re.search(r"whatever (.*?) (?:is|are),", f"{claim},")
        radii = {}
        for place, name in enumerate(asked.names):
            near = re.search(rf"{re.escape(name)} within ±([\d.]+) ", claim)
            share = re.search(r"with ([^,]*?) within ±([\d.]+) % of their ranges", claim)
            if near:
                radii[name] = float(near[1])
            elif share and place in _named(asked, share[1]):
                radii[name] = float(share[2]) / 100 * wide[name]
            else:
                anything = whatever and place in _named(asked, whatever[1])
                radii[name] = max(wide[name], 1.0) if anything else 0.0
        truth = replace(asked.truth(said), epsilon=radii)
        assert truth.holds(range(len(asked.names))), text
        return
    told = re.search(r"If one feature changes alone, .*?: (.*?)\. ?", text)
    for part in (told[1] if told else "").split("; "):
        for place in _named(asked, part):
            name = asked.names[place]
            up_to = re.search(r"by up to ([\d.]+)", part)
            radius = float(up_to[1]) if up_to else max(wide[name], 1.0)
            near = replace(asked.truth(said), epsilon={**dict.fromkeys(wide, 0.0), name: radius})
            assert near.holds([place]), text
    for weak in re.findall(r"A change of (.*?) alone is enough", text):
        for place in _named(asked, weak):
            far = replace(
                asked.truth(said), epsilon={name: max(w, 1.0) for name, w in wide.items()}
            )
            assert not far.holds([place]), text


@pytest.mark.parametrize("compared", [False, True])
def test_sentences_on_sweeps_are_true(seed: int, compared: bool, tmp_path: Path) -> None:
    asked = Asked(seed, tmp_path, compared=compared, rules=True)
    options = {name: value for name, value in asked.options.items() if name != "epsilon"}
    found = milp_verix.epsilon_sweep(asked.network, asked.case.point, epsilons=[2, 1], **options)
    text = found.sentence()
    said = spoken(text, asked.names)
    assert said.rules == len(asked.case.rules)
    assert said.rivals == tuple(CLASSES[rival] for rival in asked.against or ())
    told = re.findall(r"(\d+) at ε = (\d+)", text)
    assert [int(radius) for _, radius in told] == [2, 1]
    for size, radius in told:
        near = replace(asked.truth(said), epsilon=dict.fromkeys(asked.names, float(radius)))
        least, _ = near.minimal()
        sizes = {len(one) for one in least}
        assert (
            int(size) in sizes
            if "None of them can be left out." in text
            else int(size) >= min(sizes)
        )


@pytest.mark.parametrize("outputs", [1, 3])
def test_sentences_on_values_are_true(seed: int, outputs: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    network = dense_network(random_layers(rng, [4, 6, outputs]), tmp_path)
    x = rng.uniform(-1, 1, 4)
    spread = np.ptp([network.evaluate(x + rng.uniform(-1, 1, 4)) for _ in range(50)])
    delta = float(spread / 4)
    found = milp_verix.explain(network, x, epsilon=1, domain=(-3, 3), delta=delta)
    before = network.evaluate(x).reshape(-1)
    for feature, point in found.counterfactuals.items():
        told = re.search(
            r"output(?: (\d+))? becomes (\S+) instead of (\S+)\.", found.sentence(feature)
        )
        assert told is not None
        after = network.evaluate(point.input).reshape(-1)
        output = int(told[1] or 0)
        values = float(told[2]), float(told[3].rstrip("."))
        assert np.allclose(values, (after[output], before[output]), rtol=1e-3, atol=1e-6)
        assert abs(values[0] - values[1]) > delta
        assert abs(after - before).argmax() == output
    assert found.counterfactuals


@pytest.mark.parametrize("rules", [False, True])
def test_a_minimum_names_features_asked_for(seed: int, rules: bool, tmp_path: Path) -> None:
    asked = Asked(seed, tmp_path, compared=True, rules=rules)
    must, *_ = asked.names
    least = milp_verix.minimum(asked.network, asked.case.point, must=[must], **asked.options)
    assert asked.judge(least.sentence(), None).asked == f"with {must}"
    free = milp_verix.minimum(asked.network, asked.case.point, **asked.options)
    assert asked.judge(free.sentence(), None).asked == ""


def test_titles_and_summaries_name_restrictions(seed: int, tmp_path: Path) -> None:
    asked = Asked(seed, tmp_path, compared=True, rules=True)
    network, x, options = asked.network, asked.case.point, asked.options
    explained = milp_verix.explain(network, x, **options)
    results: list[Result] = [
        explained,
        milp_verix.contrastive(network, x, **options),
        milp_verix.enumerate_explanations(network, x, **options),
        milp_verix.audit(network, x, explained.explanation, **options),
        milp_verix.relevance(network, x, asked.names[0], **options),
        milp_verix.robustness_radius(network, x, inputs=options["inputs"], against=asked.against),
    ]
    sweep = milp_verix.epsilon_sweep(
        network, x, epsilons=[2, 1], inputs=options["inputs"], against=asked.against
    )
    texts = [(title(result), facts_of(result)) for result in results]
    for headline, facts in [*texts, (sweep_headline(sweep), facts_of(sweep))]:
        told = [f"against “{CLASSES[rival]}” alone" for rival in asked.against or ()]
        for restriction in [*told, f"{len(asked.case.rules)} rule"]:
            assert restriction in headline
            assert restriction in " ".join(text for _, text in facts)


@pytest.mark.parametrize("compared", [False, True])
def test_headlines_of_audits_are_true(seed: int, compared: bool, tmp_path: Path) -> None:
    asked = Asked(seed, tmp_path, compared=compared, rules=True)
    every = range(len(asked.names))
    verdicts = set()
    for size in (0, 1, len(every) - 1, len(every)):
        found = milp_verix.audit(
            asked.network, asked.case.point, [*every][:size], sound_only=True, **asked.options
        )
        headline = title(found)
        free = [*every][size:]
        verdicts.add("is kept by" in headline)
        said = asked.judge(headline, None)
        truth = replace(asked.truth(said), epsilon=asked.case.epsilon)
        assert truth.holds(free) == ("is kept by" in headline)
        assert f" by {size} of {len(every)} features in the ball" in headline
    assert True in verdicts


def test_a_comparison_names_restrictions(seed: int, tmp_path: Path) -> None:
    asked = Asked(seed, tmp_path, compared=True, rules=True)
    found = milp_verix.compare(
        asked.network, asked.case.point, solvers=["phase"], formulations=["big_m"], **asked.options
    )
    milp_verix.write_report(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    told = [f"against class {rival} alone" for rival in asked.against or ()]
    for restriction in [*told, f"{len(asked.case.rules)} rule"]:
        assert restriction in " ".join(remarks(found))
        assert restriction in page
