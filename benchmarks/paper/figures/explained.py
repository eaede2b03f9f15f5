"""Figures of explained images: traffic signs, runways with the estimate, the largest network."""

from benchmarks.paper.data import column_of_mass
from benchmarks.paper.figures.panels import Panel, marked, original, panels, shown
from benchmarks.paper.methods import journal_of
from benchmarks.paper.scales import Question
from benchmarks.paper.workplace import Workplace
from milp_verix.views.style import Drawing, typeset
from milp_verix.views.wording import shortened


def explained(place: Workplace) -> Drawing:
    """Draw one image of each of the first classes, predicted right, with its explanation."""
    question = place.scale.explained
    data = place.data_of(question.network)
    right = place.outputs(question.network, data.test.images).argmax(axis=1) == data.test.targets
    chosen = []
    for label in range(len(data.classes)):
        found = [i for i, target in enumerate(data.test.targets) if target == label and right[i]]
        chosen += found[:1]
    return _images(
        place, question, "figure-explained", "Explained images", chosen[: question.images]
    )


def incomplete(place: Workplace) -> Drawing:
    """Draw images explained by bounds and attacks alone."""
    question = place.scale.incomplete
    journal, count = journal_of(question, "bounds alone"), range(question.images)
    return _images(place, question, journal, "Incomplete checks", count, exactness="bounds")


def _images(
    place: Workplace,
    question: Question,
    journal: str,
    title: str,
    indices: "list[int] | range",
    **options: str,
) -> Drawing:
    data = place.data_of(question.network)
    table = place.study(journal, question, indices=indices, **options)
    found = place.explanations(journal, table)
    captions = [
        f"{shortened(data.classes[int(one.prediction)], 20)}\n{one.size} of {len(one.groups)}"  # type: ignore[arg-type]
        for one in found
    ]
    above = [Panel(original(one), text) for one, text in zip(found, captions, strict=True)]
    below = [Panel(marked(one), "") for one in found]
    subtitle = f"{question.network}, ε = {100 * question.epsilon:g} %"
    return panels([above, below], title, subtitle, shown(found))


def runways(place: Workplace) -> Drawing:
    """Draw views with the estimate of a regression, what is true, and the explanation."""
    question = place.scale.runways
    data = place.data_of(question.network)
    true = (column_of_mass(data.test) if data.classes else data.test).targets
    # from one side to the other, by the estimate's true value
    chosen = sorted(range(len(true)), key=lambda index: float(true[index]))
    chosen = chosen[:: -(-len(chosen) // question.images)][: question.images]
    table = place.study("figure-runways", question, indices=sorted(chosen))
    unit = "pixels" if data.classes else "m"
    pairs = []
    for index, one in zip(table["index"], place.explanations("figure-runways", table), strict=True):
        (estimate,) = one.prediction  # type: ignore[misc]
        told = typeset(f"{estimate:+.2f} {unit}, true {true[index]:+.2f}")
        text = f"{told}\n{one.size} of {len(one.groups)}"
        pairs.append((float(true[index]), Panel(original(one), text), one))
    pairs.sort(key=lambda pair: pair[0])
    found = [one for _, _, one in pairs]
    half = -(-len(pairs) // 2)
    rows = []
    for k in range(0, len(pairs), half):
        part = pairs[k : k + half]
        rows.append([panel for _, panel, _ in part])
        rows.append([Panel(marked(one), "") for _, _, one in part])
    subtitle = f"{question.network}, ε = {100 * question.epsilon:g} %, δ = {question.delta} {unit}"
    return panels(rows, "Estimates explained", subtitle, shown(found))
