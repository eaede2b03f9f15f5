#!/bin/bash
#SBATCH --array=0-9
#SBATCH --cpus-per-task=1
#SBATCH --mem=4G
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@120
# A share of a study's inputs for each job of an array, all with one folder of journals:
#   sbatch slurm_array.sh STUDY.toml 100
# SIGTERM, two minutes before the time limit, ends a job with its best answer saved. The same
# command goes on.
set -eu
study=$1 each=$2
first=$((SLURM_ARRAY_TASK_ID * each))
exec milp-verix batch "$study" --indices "$first:$((first + each))" \
    --journal "${study%.toml}-journals"
