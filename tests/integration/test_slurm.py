"""The recipes for Slurm, with no Slurm: their scripts run in a plain shell."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from milp_verix import explain_many
from tests.support.command_line import ENVIRONMENT
from tests.support.digits_example import IMAGES, MODEL, images
from tests.support.repository import EXAMPLES
from tests.support.studies import comparable, lines

pytestmark = pytest.mark.slow


@pytest.mark.nightly
def test_jobs_of_an_array_share_a_study(tmp_path: Path) -> None:
    command = tmp_path / "bin" / "milp-verix"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m milp_verix "$@"\n')
    command.chmod(0o755)
    study = tmp_path / "study.toml"
    study.write_text(f'model = "{MODEL}"\nxs = "{IMAGES}:images"\nepsilon = [0.05, 0.1]\n')
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    jobs = []
    for number in ("0", "1", "2", "1"):  # a job that is queued again finds its tasks done
        job = subprocess.run(
            ["bash", EXAMPLES / "slurm_array.sh", study, "7"],
            env={**ENVIRONMENT, "PATH": path, "SLURM_ARRAY_TASK_ID": number},
            capture_output=True,
            text=True,
            check=False,
        )
        assert job.returncode == 0, job.stderr
        jobs.append(job.stdout)
    totals = ["14 of 14", "14 of 14", "12 of 12", "14 of 14"]
    assert [job.split(" tasks")[0] for job in jobs] == totals
    assert "14 known before" in jobs[3]
    found = [
        record for file in (tmp_path / "study-journals").glob("*.jsonl") for record in lines(file)
    ]
    explain_many(MODEL, images(), epsilon=[0.05, 0.1], journal=tmp_path / "whole.jsonl")
    assert comparable(found) == comparable(lines(tmp_path / "whole.jsonl"))


@pytest.mark.nightly
def test_workers_that_dask_jobqueue_starts_do_a_study(tmp_path: Path) -> None:
    distributed: Any = pytest.importorskip("distributed")
    jobqueue: Any = pytest.importorskip("dask_jobqueue")
    cluster = jobqueue.SLURMCluster(
        cores=1,
        processes=1,
        memory="4GB",
        local_directory=str(tmp_path),
        worker_extra_args=["--no-dashboard"],
        scheduler_options={"host": "127.0.0.1", "dashboard_address": None},
    )
    script = cluster.job_script()
    assert "#SBATCH --cpus-per-task=1" in script
    with (
        cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        subprocess.Popen(
            ["bash", "-c", script], env=ENVIRONMENT, stderr=subprocess.DEVNULL, process_group=0
        ) as job,
    ):
        path = tmp_path / "study.jsonl"
        try:
            explain_many(MODEL, images()[:3], epsilon=0.1, journal=path, client=client)
        finally:
            os.killpg(job.pid, signal.SIGTERM)
    explain_many(MODEL, images()[:3], epsilon=0.1, journal=tmp_path / "whole.jsonl")
    assert comparable(lines(path)) == comparable(lines(tmp_path / "whole.jsonl"))
