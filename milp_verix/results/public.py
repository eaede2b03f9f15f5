"""The results that users see: records with methods that tell, store, draw and check them again."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

from milp_verix.base import stored_kinds as kinds
from milp_verix.base.errors import InputError, printable
from milp_verix.base.names import require_one_of
from milp_verix.base.number_text import counted
from milp_verix.results import shown
from milp_verix.results.power_indices.indices import INDICES
from milp_verix.results.records import (
    audit,
    contrast,
    enumeration,
    explanation,
    importance,
    radius,
    ranges,
    relevance,
    sweep,
)
from milp_verix.results.shown import Certified, Drawn, Told

if TYPE_CHECKING:
    from milp_verix.models.loaded_model import LoadedModel
    from milp_verix.problem.problem import PosedProblem


class Explanation(Certified, Drawn, explanation.ExplanationRecord):
    """An abductive explanation of one prediction, to be stored, drawn and checked again.

    Claim: with the features in ``explanation`` fixed, every input in the ball and the domain has
    the prediction of the original. Each feature in ``explanation`` but not in ``unknown`` has a
    counterfactual, so that it could not have been left out. The fields are documented in
    :class:`milp_verix.results.records.explanation.ExplanationRecord`.

    The picture of an image shows the input, the sensitivity of its features if the order has one,
    the explanation over it, and the changes of up to 8 counterfactuals. A described input has a row
    for each feature, with its range and its values; any other input has a bar for each feature.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes
    __slots__ = ("_problem",)

    def replay(self, network: "LoadedModel") -> tuple[int, ...]:
        """Run onnxruntime on every counterfactual again; return the features whose fails.

        A counterfactual fails that is outside the ball or the domain, touches a feature that is
        neither irrelevant nor its own, or does not change the prediction. Raises ``InputError``
        where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import failing_features

        return failing_features(self, network)

    def sentence(self, feature: int | str | None = None) -> str:
        """Return the explanation in words, or the counterfactual of one ``feature`` of it.

        ``feature`` is an index or a name. Raises ``InputError`` for one without a counterfactual.
        """
        if feature is None:
            return super().sentence()
        names = list(self.feature_names or ())
        index = names.index(feature) if feature in names else feature
        if index not in self.counterfactuals:
            raise InputError(
                f"feature {feature!r} has no counterfactual: it is not in the explanation"
            )
        return printable(shown.counterfactual_sentence(self, self.counterfactuals[int(index)]))

    def of(self, problem: "PosedProblem") -> Self:
        """Return the explanation, which remembers its ``problem`` until it is stored."""
        object.__setattr__(self, "_problem", problem)
        return self

    def inflate(self, network: "LoadedModel | None" = None, **options: Any) -> "Ranges":
        """Return the widest ranges of the kept features that provably keep the prediction.

        ``network`` is needed where the explanation was read from a file. ``options`` are those of
        :func:`milp_verix.inflate`, such as ``rows``; the question is that of the explanation.
        Raises ``InputError`` where ``network`` is missing, or is not the network explained.
        """
        import milp_verix
        from milp_verix.models.onnx.onnx_network import loaded
        from milp_verix.results.again import asked_in

        if network is None:
            problem = getattr(self, "_problem", None)
            if problem is None:
                raise InputError(
                    "an explanation from a file does not hold its network: give inflate(network)"
                )
            network = problem.network
        network = loaded(network, self.inputs)
        self.refuse_other(network)
        asked = {**asked_in(self)}
        if self.inputs is None:
            asked |= {"feature_names": self.feature_names, "image_shape": self.image_shape}
        return milp_verix.inflate(network, self.input, self, **{**asked, **options})

    def __repr__(self) -> str:
        return printable(
            f"Explanation({self.model.file}: prediction {self.prediction}, {self.size} of "
            f"{counted(len(self.groups), 'feature')}, {shown.explanation_facts(self)}, "
            f"{self.statistics.seconds:.2f} s by {self.solver})"
        )


class ContrastiveExplanation(Drawn, contrast.ContrastiveExplanationRecord):
    """The fewest features whose change changes the prediction, with an input that shows it.

    ``proven`` says that no other set is smaller (or cheaper), or that no change in the ball does
    it. The fields are documented in
    :class:`milp_verix.results.records.contrast.ContrastiveExplanationRecord`.

    The picture of an image shows the input with the contrast outlined, the change, and the
    counterfactual. A described input has a row for each feature; any other input has a bar for the
    change of each coordinate in the contrast, the first 40 of them.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def replay(self, network: "LoadedModel") -> bool:
        """Run onnxruntime on the counterfactual again; return whether it is one.

        It is in the ball and the domain, changes no feature outside the contrast, and changes the
        prediction to the one recorded; so do ``alternatives``. ``InputError`` where there is none,
        or where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import failing_contrasts

        if self.contrast is None or self.counterfactual is None:
            raise InputError("there is no counterfactual to replay: no contrast was found")
        found = {other.contrast: other.counterfactual for other in self.alternatives}
        return not failing_contrasts(self, {self.contrast: self.counterfactual, **found}, network)


class Enumeration(Told, enumeration.EnumerationRecord):
    """Minimal abductive and contrastive explanations of one prediction.

    ``complete`` says that no set is missing. The fields are documented in
    :class:`milp_verix.results.records.enumeration.EnumerationRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def replay(self, network: "LoadedModel") -> tuple[kinds.FeatureSet, ...]:
        """Run onnxruntime on every counterfactual again; return the contrasts whose fails.

        ``InputError`` where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import failing_contrasts

        return failing_contrasts(self, self.contrastive, network)


class Audit(Certified, Drawn, audit.AuditRecord):
    """The judgement on a set of features that some tool calls an explanation.

    ``sound``: True, with a proof that the set keeps the prediction; False, with a
    ``counterexample``; or None. ``removable`` features can be left out, all together; ``added``
    ones make a set sound that is not. The fields are documented in
    :class:`milp_verix.results.records.audit.AuditRecord`.

    The picture of an image shows the input, the set with the features that can be left out or are
    missing, and an input that changes the prediction, with its change. Other inputs have a row or a
    bar for each feature. That input is the counterexample of a set that is not sound, or the
    counterfactual of some feature of a sound one.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def replay(self, network: "LoadedModel") -> tuple[int | None, ...]:
        """Run onnxruntime on every counterfactual again; return the features whose fails.

        None among them stands for the counterexample. A counterfactual fails that is outside the
        ball or the domain, changes a feature of the sound set beside its own, or does not change
        the prediction. Raises ``InputError`` where ``network`` is not the network audited.
        """
        from milp_verix.results.replay import failing_points

        others = [f for f in range(len(self.groups)) if f not in self.explanation]
        irrelevant = [f for f in range(len(self.groups)) if f not in self.sound_set]
        points = [(f, [*irrelevant, f], point) for f, point in self.counterfactuals.items()]
        if self.counterexample is None:
            return failing_points(self, points, network)
        return failing_points(self, [(None, others, self.counterexample), *points], network)

    def __repr__(self) -> str:
        return printable(f"Audit({self.model.file}: {shown.audit_title(self)})")


class EpsilonSweep(Drawn, sweep.EpsilonSweepRecord):
    """Explanations of one prediction at several radii, from the largest radius to the smallest.

    The fields are documented in :class:`milp_verix.results.records.sweep.EpsilonSweepRecord`.

    The picture of an image has one colour for each radius; that of another input has a row for each
    feature and a column for each radius.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    levels: tuple[Explanation, ...]


class RobustnessRadii(Certified, Drawn, radius.RobustnessRadiiRecord):
    """Brackets of the largest radius at which some features are irrelevant.

    The fields are documented in :class:`milp_verix.results.records.radius.RobustnessRadiiRecord`.

    The picture of an image is a map of the radii of the features, or shows the counterfactual of
    the one bracket. Other inputs have a bar for each bracket.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def replay(self, network: "LoadedModel") -> tuple[tuple[int, ...], ...]:
        """Run onnxruntime on every counterfactual again; return the features whose fails.

        A counterfactual fails that is outside the ball of its radius or the domain, or does not
        change the prediction. ``InputError`` where ``network`` is not the network asked about.
        """
        from milp_verix.results.replay import failing_contrasts

        found = {b.features: b.counterfactual for b in self.brackets if b.counterfactual}
        return failing_contrasts(self, found, network)


class Importance(Certified, Drawn, importance.ImportanceRecord):
    """The importance of each feature for one prediction, between proven ends.

    ``lower`` and ``upper`` have an end for each feature, ``values`` the middle between them; where
    the importance is ``exact``, all three are the same. The fields are documented in
    :class:`milp_verix.results.records.importance.ImportanceRecord`.

    The picture of an image is a map of the proven importance. Other inputs have a bar for each
    feature with its bracket, beside the scores of the other tool, if there are any.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def under(self, index: str) -> Self:
        """Return the importance by another index, from the same sets of features.

        Raises ``InputError`` for an index that there is not.
        """
        return replace(self, index=index_named(index))

    def replay(self, network: "LoadedModel") -> tuple[kinds.FeatureSet, ...]:
        """Run onnxruntime on every counterfactual again; return the contrasts whose fails.

        ``InputError`` where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import failing_contrasts

        found = {one.features: one.counterfactual for one in self.contrasts}
        return failing_contrasts(self, found, network)


class Ranges(Certified, Drawn, ranges.RangesRecord):
    """The widest proven ranges of kept features, an inflated explanation.

    Claim: every input with each feature of ``explanation`` anywhere in its range, and all other
    features anywhere in the ball, has the prediction of the original. ``intervals`` has the ranges
    by name. The fields are documented in
    :class:`milp_verix.results.records.ranges.RangesRecord`.

    The picture of an image shows how far each kept pixel may fall and rise. Other inputs have a bar
    for each kept feature, on its own scale.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def replay(self, network: "LoadedModel") -> tuple[tuple[int, float], ...]:
        """Run onnxruntime on every counterfactual again; return those that fail.

        A pair of a feature and the value or the place of the word beyond its range names one. A
        counterfactual fails that has another value there, is outside the range of another kept
        feature or outside the ball, or does not change the prediction. Raises ``InputError`` where
        ``network`` is not the network asked about.
        """
        from milp_verix.results.replay import failing_steps

        return failing_steps(self, network)


class Relevance(Certified, relevance.RelevanceRecord):
    """The part that protected features play in the explanations of one decision, by proof.

    The fields are documented in :class:`milp_verix.results.records.relevance.RelevanceRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def replay(self, network: "LoadedModel") -> bool:
        """Run onnxruntime on the pair of inputs again; return whether it shows the difference.

        The counterfactual is in the ball and changes the prediction; the other input, if there is
        one, is in the ball and keeps it. ``InputError`` where there is no evidence, or where
        ``network`` is not the network asked about.
        """
        from milp_verix.results.replay import relevance_stands

        if self.counterfactual is None:
            raise InputError("there is no counterfactual to replay: no relevance was shown")
        return relevance_stands(self, network)


def index_named(name: str) -> importance.IndexName:
    """Return the name of an index; ``InputError`` for one that there is not."""
    require_one_of(INDICES, name, "index")
    return cast(importance.IndexName, name)
