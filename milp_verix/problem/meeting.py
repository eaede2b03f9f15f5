"""Where an input, its description and its domain meet the network; the ball of described inputs.

{ x' : |x'_i − x_i| ≤ ε_i,  l_i ≤ x'_i ≤ u_i,  x'_i ∈ ℤ for whole features,  all rules hold }

A missing value is the number next to ``u_i``. It is at no distance from any number: it is in the
ball of others if ``ε_i = ∞`` alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from milp_verix.base.errors import InputError, listed, shown
from milp_verix.base.image_shape import shape_seen, without_ones
from milp_verix.inputs.feature import continuous
from milp_verix.inputs.frame import is_frame
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.one_row import counts, features_among, numbers_by_name, refuse_arrays
from milp_verix.inputs.radii import Labels, ends_around, radii_of_coordinates, values_by_label
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import OnnxNetwork, missing_numbers
from milp_verix.problem.ball import UNIT_DOMAIN, Ball, Domain, domain_ends
from milp_verix.problem.search import Given, InputLike

_NO_NAMES = "the model stores no names of columns: described features were taken in their order"


def placed(
    described: Inputs, network: LoadedModel, x: InputLike, row: Mapping[str, Any] | None
) -> tuple[Inputs, InputLike, tuple[str, ...]]:
    """Return the description and the input in the order of the network's columns, and notes.

    ``row`` has the values of ``x`` by name, if it has names. Notes tell of a network without names,
    and of values that are left out. Raises ``InputError`` for columns of other names, and for an
    array ``x`` whose order is not that of the columns.
    """
    found, extra = network.described(described), tuple[str, ...]()
    if row is None:
        refuse_arrays(found.places != described.places)
    else:
        x, extra = found.row(row), features_among(found.features, [*row], "the row")[1]
    unnamed = described.passage is None and network.columns_for(described.names) is None
    unread = f"left out of the description, as the model drops them: {listed(found.unread)}"
    return found, x, (_NO_NAMES,) * unnamed + (unread,) * bool(found.unread) + extra


def row_placed(
    x: Any, row: Mapping[str, Any] | None, network: LoadedModel, feature_names: Any
) -> tuple[Any, Sequence[str] | None, tuple[str, ...]]:
    """Return an input without a description, the names of its coordinates if any, and notes.

    ``row`` are the values of ``x`` by name, None if it has none. They are placed by the names of
    the model, or else by ``feature_names``, or in their own order. Raises ``InputError`` for a name
    that is missing.
    """
    listed = isinstance(feature_names, Iterable) and getattr(feature_names, "ndim", 1) == 1
    given = tuple(map(str, feature_names)) if listed else None
    columns = network.columns_for(given or () if row is None else row)
    if row is None:
        return x, columns or given, ()
    if columns is None and given is not None:
        numbers, notes = numbers_by_name(row, given, "the row")
        return numbers, given, notes
    numbers, notes = network.placed(row)
    return numbers, columns or (None if counts([*row]) else tuple(row)), notes


def shaped_domain(
    domain: Any, labels: Labels, input_shape: tuple[int, ...], image_shape: tuple[int, ...] | None
) -> Domain:
    """Return the domain; its arrays that fit like an input get ``input_shape``.

    Ends with ``labels`` are in the order of the coordinates then. An array of another shape is left
    to be broadcast, or refused, by ``make_ball``.
    """

    def shaped(end: Any) -> ArrayLike:
        end = values_by_label(end, labels, "domain")
        try:
            array = np.asarray(end)
            if not array.shape:
                return end  # type: ignore[no-any-return]
            shape_seen(array.shape, input_shape, image_shape)
        except (TypeError, ValueError):
            return end  # type: ignore[no-any-return]
        return array.reshape(input_shape)

    if is_frame(domain) and len(domain) == 2:
        domain = domain.iloc[0], domain.iloc[1]
    if hasattr(domain, "keys"):
        raise InputError(
            "the domain is a pair (lower, upper), and each may be numbers by name; got "
            f"{shown(domain)}"
        )
    try:
        low, high = domain
    except (TypeError, ValueError):
        return domain  # type: ignore[no-any-return]
    return shaped(low), shaped(high)


def own_radii(
    given: Given,
    labels: Labels,
    domain: Domain,
    shapes: tuple[tuple[int, ...], tuple[int, ...] | None],
) -> tuple[Any, Inputs | None]:
    """Return the radius, or those of coordinates by name or in an array, and their description.

    Where inputs are not described, coordinates with radii of their own are described by the domain,
    and called by their places without ``labels``. ``shapes`` are those of the input and the image.

    Raises ``InputError`` for radii of another shape and beside groups of coordinates, for a domain
    that is none, and for two names that are the same.
    """
    epsilon: Any = given.epsilon
    named = hasattr(epsilon, "keys")
    if isinstance(epsilon, list | tuple) and any(isinstance(one, list | tuple) for one in epsilon):
        try:
            epsilon = np.asarray(epsilon)
        except ValueError as error:
            raise InputError(
                "epsilon has lists of different lengths, expected a radius for each coordinate, of "
                f"shape {shapes[0]}; give each of several radii as a list or file of its own"
            ) from error
    depth = epsilon.ndim if isinstance(epsilon, np.ndarray) else isinstance(epsilon, list | tuple)
    if depth > 1:
        found = np.asarray(epsilon)
        if without_ones(found.shape) not in [without_ones(shape or ()) for shape in shapes]:
            raise InputError(
                f"epsilon has the shape {found.shape}, expected that of the input, {shapes[0]}: a "
                "radius for each coordinate; give each of several radii a list or file of its own"
            )
        epsilon = found.reshape(-1)
    if given.inputs is not None or not (named or depth):
        return epsilon, None
    if given.features is not None:
        raise InputError(
            "epsilon has a radius for each coordinate, and features frees several together: leave "
            "one of the two out"
        )
    lower, upper = domain_ends(domain, shapes[0])
    known = labels.names or [f"feature {place}" for place in range(lower.size)]
    described = Inputs([*map(continuous, known, lower.tolist(), upper.tolist())])
    described = described.remade(of_domain=True)
    return values_by_label(epsilon, labels, "epsilon"), described


def refuse_beside(
    inputs: Inputs, network: LoadedModel, domain: Domain, others: tuple[object, ...]
) -> None:
    """Raise ``InputError`` for inputs of another size, or arguments that they replace."""
    if inputs.size != network.input_size:
        raise InputError(
            f"the inputs described have {inputs.size} coordinates, those of the model "
            f"{network.input_size} (shape {network.input_shape}): one for each feature, and one "
            "for each value of a one-hot block; Inputs.from_pipeline(pipeline, frame) describes "
            "the columns of a pipeline"
        )
    classes = max(network.output_size, 2)  # one score decides between two
    known = network.facts.class_names
    if inputs.class_names != known and sorted(inputs.class_names) == sorted(known):
        raise InputError(
            f"the classes of the network are {listed(known)}, in this order; the inputs "
            f"described name them in another: {listed(inputs.class_names)}"
        )
    if inputs.class_names and len(inputs.class_names) != classes:
        raise InputError(
            f"the inputs described name {len(inputs.class_names)} classes, the network has "
            f"{classes}: give a name for each, or leave class_names out"
        )
    _refuse_other_words(inputs, network)
    if domain is not UNIT_DOMAIN or any(other is not None for other in others):
        raise InputError(
            "inputs describe the domain, the features and their names: leave domain, features, "
            "feature_names and image_shape out"
        )


def with_missing_of(inputs: Inputs, network: LoadedModel) -> LoadedModel:
    """Return trees with the missing values described; ``InputError`` for a network of others."""
    if isinstance(network, OnnxNetwork):
        known = tuple(one for one in network.missing if not isinstance(one, str))
        if missing_numbers(inputs, network) == known:
            return network
        names = [one.name for one in inputs.features if one.missing and not one.one_hot]
        raise InputError(
            f"{listed(names) or 'no number'} may be missing, and {network.name} is a network, "
            "which computes with numbers: leave missing out of the description and fill numbers "
            "in, or give a pipeline with a SimpleImputer; trees read missing values"
        )
    from milp_verix.models.trees.behind_table import with_missing  # it loads all readers of trees

    return with_missing(network, inputs.missing)


def _refuse_other_words(inputs: Inputs, network: LoadedModel) -> None:
    """Raise ``InputError`` for a word with another code than the network's, or a number for one."""
    ends = np.full((2, inputs.size), np.nan)
    for feature, group in zip(inputs.features, inputs.groups, strict=True):
        known = network.words.get(int(group[0]), ())
        ends[:, group[0]] = (np.nan,) * 2 if feature.values else (feature.lower, feature.last)
        in_model = len(feature.values) - feature.missing
        for word, code in (
            zip(feature.values[:in_model], feature.codes, strict=False) if known else ()
        ):
            if not (0 <= code < len(known) and known[code] == word):
                raise InputError(
                    f"{feature.name}: the word {word!r} has the code {code} in the inputs "
                    f"described; the network knows the words {listed(list(known))}, coded 0, 1, … "
                    f"in this order. Give them as categories={{{feature.name!r}: [...]}}"
                )
    network.refuse_words(*ends)


def make_described_ball(x: NDArray[Any], radii: Sequence[float], norm: str, inputs: Inputs) -> Ball:
    """Return the ball around ``x``, an array in the network's own dtype, with a radius a feature.

    Raises ``InputError`` for an ``x`` that is not such an input, for a norm other than L∞, for
    whole numbers that the dtype does not hold, and for a feature that may move without end.
    """
    if norm != "linf":
        raise InputError(
            f"a radius for each feature goes with norm 'linf' alone, not with {norm!r}"
        )
    flat = np.array(x).reshape(-1)
    inputs.refuse(flat)
    reach, wide = radii_of_coordinates(inputs, radii), flat.astype(np.float64)
    ends = ends_around(inputs, wide, radii)
    lower, upper = np.maximum(wide - reach, ends[0]), np.minimum(wide + reach, ends[1])
    magnitude = np.maximum(np.abs(lower), np.abs(upper))
    largest = 2.0 ** (np.finfo(flat.dtype).nmant + 1)
    for feature, group in zip(inputs.features, inputs.groups, strict=True):
        if not np.isfinite(magnitude[group]).all():
            raise InputError(
                f"{feature.name} may move without end: give its lower and upper, or a finite "
                "epsilon"
            )
        if feature.whole and np.any(magnitude[group] > largest):
            raise InputError(
                f"{feature.name} reaches beyond {largest:.0f}, up to which {flat.dtype} has all "
                "whole numbers: give a smaller range, or call it continuous"
            )
    epsilon = float(max(radii))
    return Ball(flat, epsilon, norm, *ends, radii=reach, mixed=inputs.mixed)
