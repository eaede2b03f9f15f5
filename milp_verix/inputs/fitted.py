"""Objects of scikit-learn, known by the names of their classes: it is not imported."""

from typing import Any

from milp_verix.base.errors import InputError
from milp_verix.inputs.fitted_arguments import require_read


def name_of(step: Any) -> str:
    """Return the class of an object of scikit-learn; "" for a subclass, which may do otherwise."""
    return type(step).__name__ if type(step).__module__.startswith("sklearn.") else ""


def is_pipeline(model: Any) -> bool:
    """Return True for a ``Pipeline`` of scikit-learn that ends in an estimator."""
    return name_of(model) == "Pipeline" and hasattr(model.steps[-1][1], "predict")


def is_skipped(step: Any) -> bool:
    """Return True for a step that passes everything through."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline that do something, those of pipelines inside of it included.

    Its last step is among them in any case; another object is its only step. Raises ``InputError``
    for an argument of a pipeline that is not read.
    """
    *before, last = _flat(model)
    return [*(step for step in before if not is_skipped(step)), last]


def _flat(model: Any) -> list[Any]:
    if name_of(model) != "Pipeline":
        return [model]
    require_read(model)
    return [part for _, step in model.steps for part in _flat(step)]


def width_of(model: Any) -> int:
    """Return the number of columns that ``model`` was fitted on; ``InputError`` if on none."""
    width = getattr(steps_of(model)[0], "n_features_in_", None)
    if width is None:
        raise not_fitted(model)
    return int(width)


def names_of(model: Any) -> list[str] | None:
    """Return the names of the columns that ``model`` was fitted on, None for those of arrays."""
    names = getattr(steps_of(model)[0], "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def not_fitted(model: Any) -> InputError:
    """Return the error for an object that saw no data yet."""
    return InputError(f"the {type(model).__name__} is not fitted: call fit first")


def without_search(model: Any) -> tuple[Any, tuple[str, ...]]:
    """Return ``model`` with the estimator that each fitted search has chosen, and notes on these.

    A search is a ``GridSearchCV`` or one of its like, alone or at the end of pipelines. Raises
    ``InputError`` for one that has chosen no estimator.
    """
    if "BaseSearchCV" in {base.__name__ for base in type(model).__mro__ if name_of(model)}:
        if not hasattr(model, "best_estimator_"):
            if not hasattr(model, "cv_results_"):
                raise not_fitted(model)
            raise InputError(
                f"the {type(model).__name__} has no best_estimator_: fit it with refit=True"
            )
        chosen, notes = without_search(model.best_estimator_)
        return chosen, (f"the best_estimator_ of the {type(model).__name__} was read", *notes)
    if name_of(model) == "Pipeline" and model.steps:
        *before, (name, last) = model.steps
        chosen, notes = without_search(last)
        if notes:
            arguments = {**model.get_params(deep=False), "steps": [*before, (name, chosen)]}
            return type(model)(**arguments), notes
    return model, ()
