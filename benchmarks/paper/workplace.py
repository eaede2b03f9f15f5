"""The folder of an evaluation: networks, journals, and whole results, each made once."""

import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import milp_verix
from benchmarks.paper.architectures import ARCHITECTURES
from benchmarks.paper.data import DataSet, column_of_mass, load
from benchmarks.paper.scales import Question, Scale
from milp_verix.study.study_inputs import inputs_of
from milp_verix.study.tasks import settings_of, tasks_of

if TYPE_CHECKING:
    import pandas as pd

SHIPPED = Path(__file__).parent / "networks"


class Workplace:
    """The folder ``out``, and the ``paths`` of data sets by name.

    Networks come from ``out/networks``; one that is missing is copied from those that ship, or
    trained. Every explanation is a line of a journal in ``out/journals``, and a file beside it;
    those that are there are not computed again.
    """

    def __init__(self, out: Path, scale: Scale, paths: Mapping[str, Path | None]) -> None:
        self.out, self.scale, self._paths = out, scale, paths
        for folder in ("networks", "journals", "figures"):
            (out / folder).mkdir(parents=True, exist_ok=True)
        self.data = cache(self._data)
        self.network = cache(self._network)

    def _data(self, name: str) -> DataSet:
        return load(name, self._paths.get(name))

    def data_of(self, network: str) -> DataSet:
        """Return the data set that a network is about."""
        return self.data(ARCHITECTURES[network].data)

    def _network(self, name: str) -> milp_verix.OnnxNetwork:
        path = self.out / "networks" / f"{name}.onnx"
        if not path.exists():
            if (SHIPPED / path.name).exists():
                shutil.copy(SHIPPED / path.name, path)
            else:
                from benchmarks.paper.training import train

                print(f"training {name}", flush=True)
                train(ARCHITECTURES[name], self.data_of(name), path)
        return milp_verix.load_network(path)

    def study(
        self,
        name: str,
        question: Question,
        *,
        images: NDArray[Any] | None = None,
        indices: Sequence[int] | None = None,
        task: str = "explain",
        grid: Mapping[str, Sequence[Any]] | None = None,
        results: bool = True,
        failures: bool = False,
        **options: Any,
    ) -> "pd.DataFrame":
        """Explain images by the journal ``name``; return the records of them, sorted by index.

        By default ``images`` are the tests of the network's data set, and ``indices`` the first
        ones. ``options`` replace those of the question, ``grid`` has several values for each.
        Raises ``KeyboardInterrupt`` for Ctrl-C, and ``InputError`` where an explanation failed,
        unless ``failures`` are returned with the others. The next run tries them again.
        """
        network = self.network(question.network)
        images = self.data_of(question.network).test.images if images is None else images
        indices = list(range(question.images) if indices is None else indices)
        given = {**question.options, **options}
        axes = {"epsilon": [given.pop("epsilon")], **(grid or {})}
        tally = milp_verix.explain_many(
            network,
            images,
            epsilon=axes["epsilon"],
            indices=indices,
            journal=self._journal(name),
            task=task,
            grid={axis: values for axis, values in axes.items() if axis != "epsilon"},
            results=results,
            retry=("failed",),
            **given,
        )
        if tally.stopped:
            raise KeyboardInterrupt
        # a journal may hold more: other images, and networks of the same name
        tasks = tasks_of(
            network,
            inputs_of(images, network.input_size),
            indices,
            settings_of([task], axes, given),
        )
        table = milp_verix.read_study(self._journal(name))
        table = table[table["key"].isin([one.key for one in tasks])].reset_index(drop=True)
        failed = table[table["status"] == "failed"]
        if len(failed) and not (failures and len(failed) < len(table)):
            raise milp_verix.InputError(f"{name}: {failed['reason'].iloc[0]}")
        return table

    def explanations(self, name: str, table: "pd.DataFrame") -> list[milp_verix.Explanation]:
        """Return the whole results of records of the journal ``name``."""
        records = table.to_dict("records")
        found = [milp_verix.read_result(self._journal(name), record) for record in records]
        return [one for one in found if isinstance(one, milp_verix.Explanation)]

    def _journal(self, name: str) -> Path:
        return self.out / "journals" / f"{name}.jsonl"

    def outputs(self, network: str, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what onnxruntime answers to ``images``, shape (N, outputs)."""
        import onnxruntime

        self.network(network)
        path = self.out / "networks" / f"{network}.onnx"
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        parts = [images[k : k + 100] for k in range(0, len(images), 100)]
        answers = [session.run(None, {"image": part})[0] for part in parts]
        return np.concatenate(answers)

    def score(self, network: str) -> float:
        """Return the share of tests classified right, or a regression's mean absolute error."""
        data = self.data_of(network)
        answers = self.outputs(network, data.test.images)
        if answers.shape[1] == 1:
            part = column_of_mass(data.test) if data.classes else data.test
            return float(np.abs(answers[:, 0] - part.targets).mean())
        return float(np.mean(answers.argmax(axis=1) == data.test.targets))
