"""Sweeps and robustness radii in words."""

from milp_verix.records.radius import RadiusBracket, RobustnessRadii
from milp_verix.records.sweep import EpsilonSweep
from milp_verix.reporting.wording import counted, number, prediction_text


def sweep_headline(sweep: EpsilonSweep) -> str:
    """Return the result in a line: ``"Prediction 7, explained at 3 radii: 618, 253, 123 of 784"``.

    The sizes are those of the explanations, from the largest radius to the smallest.
    """
    first = sweep.levels[0]
    sizes = ", ".join(map(str, sweep.sizes))
    radii = "1 radius" if len(sweep.levels) == 1 else f"{len(sweep.levels)} radii"
    count = counted(len(first.groups), "feature")
    return f"Prediction {prediction_text(first.prediction, 3)}, explained at {radii}: " + (
        f"{sizes} of {count}"
    )


def sweep_outcome(sweep: EpsilonSweep) -> str:
    """Return how far the explanations are decided."""
    if sweep.minimal:
        return "locally minimal at each radius"
    return f"undecided: {', '.join(str(len(level.unknown)) for level in sweep.levels)} features"


def bracket_text(bracket: RadiusBracket) -> str:
    """Return ``"0.0228 to 0.02303"``, ``"irrelevant up to 1"`` or ``"at least 0.5"``."""
    if bracket.irrelevant:
        return f"irrelevant up to {number(bracket.reach)}"
    if bracket.upper is None:
        return f"at least {number(bracket.lower)}"
    return f"{number(bracket.lower)} to {number(bracket.upper)}"


def radii_headline(found: RobustnessRadii) -> str:
    """Return the result in a line: ``"Prediction 7, robustness radius 0.0228 to 0.02303"``."""
    prediction = f"Prediction {prediction_text(found.prediction, 3)}"
    count = counted(len(found.groups), "feature")
    if found.each:
        return f"{prediction}, radius of each of {count}"
    chosen = len(found.bracket.features)
    of = "" if chosen == len(found.groups) else f" of {chosen} of {count}"
    return f"{prediction}, robustness radius{of}: {bracket_text(found.bracket)}"


def radii_outcome(found: RobustnessRadii) -> str:
    """Return how many brackets are as narrow as asked for."""
    open_ = sum(not bracket.settled for bracket in found.brackets)
    if open_:
        return f"{counted(open_, 'bracket')} wider than asked for"
    return f"proven within {number(100 * found.tolerance)} %"
