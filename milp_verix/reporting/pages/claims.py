"""The claims that a page reports and their grounds, in a few sentences."""

from collections.abc import Collection, Mapping
from typing import Any

from milp_verix.reporting.figures.style import typeset
from milp_verix.reporting.pages.markup import Html, element, joined
from milp_verix.reporting.words.wording import number
from milp_verix.tolerances import Tolerances

_CLAIMS = {
    "explain": (
        "An explanation is a set of features. While they keep their values, every change of the "
        "other features within the ball and the domain keeps the prediction. Locally minimal: no "
        "single feature of it can be left out."
    ),
    "minimum": (
        "A minimum explanation is one with the fewest features, or the least cost. The lower bound "
        "is proven; where it is below the size, a smaller explanation may exist."
    ),
    "contrastive": (
        "A contrastive explanation is the fewest features whose change within the ball changes "
        "the prediction. Robust: a proof that no change in the ball changes it."
    ),
    "nearest": (
        "A nearest counterfactual is an input in the ball that is predicted otherwise, at the "
        "least distance: the sum of each change as a share of its radius, or of its domain if "
        "smaller. A change of category counts as one. Robust: a proof that no change in the ball "
        "changes the prediction."
    ),
    "audit": (
        "An audit judges a set of features from any tool. Sound: a proof that every change of the "
        "other features within the ball keeps the prediction. Minimal: each feature of the set has "
        "a counterfactual."
    ),
    "radius": (
        "A radius is proven up to its lower end: no change of the features within it changes the "
        "prediction. A counterfactual at the upper end shows that a larger radius does not hold."
    ),
    "relevance": (
        "A protected feature is necessary if it is in every explanation of the decision, relevant "
        "if it is in some minimal one, irrelevant if it is in none. Two inputs that differ in it "
        "alone and are decided differently show that it plays a part; irrelevance is a proof."
    ),
    "enumeration": (
        "An enumeration lists minimal sets of both kinds: sets that keep the prediction, and sets "
        "that can change it. Complete: a proof that no set is missing."
    ),
}
_EXACTNESS = {
    "relaxation": "Checks went to linear relaxations, and left features undecided beyond.",
    "bounds": "Checks used bounds alone, and left features undecided beyond.",
}


def claims(
    tasks: Collection[str],
    tolerances: Mapping[str, Any] | None = None,
    exactness: Collection[str] = (),
) -> Html:
    """Return the claims of results of these ``tasks``, and what they rest on.

    ``tolerances`` are those that differ from the defaults, by their names.
    """
    asked = Tolerances()
    given = tolerances or {}
    margin = float(given.get("margin", asked.margin))
    relative = float(given.get("relative_margin", asked.relative_margin))
    feasibility = float(given.get("feasibility", asked.feasibility))
    lines = [
        *(text for task, text in _CLAIMS.items() if task in tasks),
        "A claim is about the network in real arithmetic with its stored weights. It rests on a "
        "proven dual bound that keeps every rival's margin below zero over the whole ball, by more "
        f"than {typeset(number(margin))} and {typeset(number(relative))} of the margin's size.",
        "Every counterfactual lies in the ball and in the domain, with no tolerance, and "
        "onnxruntime predicted it otherwise.",
        "A feature that nothing decided stays in the explanation and counts as undecided. The "
        "explanation is sound all the same.",
        "Bounds, big-Ms and folded coefficients are rounded outward. Bounds of the solvers phase "
        "and split count all rounding; dual bounds of other solvers are taken at tolerances of "
        f"{typeset(number(feasibility))}.",
        *(_EXACTNESS[name] for name in exactness if name in _EXACTNESS),
    ]
    return joined((element("ul", *(element("li", line) for line in lines)),))
