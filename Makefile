# VENV is the virtual environment that the targets use: `make test VENV=~/envs/verix`.
VENV ?= .venv
BIN := $(VENV)/bin
HOURS ?= 2
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
# Left out where PyTorch, which takes gigabytes, is not installed.
WITHOUT_TORCH = $(shell $(BIN)/python -c 'import torch' 2>/dev/null || echo notebooks/pytorch.ipynb notebooks/text.ipynb)

.DEFAULT_GOAL := help
.PHONY: help setup demo paper test lint types study notebooks docs dist campaign results check clean

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: ## Create the virtual environment with everything that development needs
	python3 -m venv $(VENV)
	$(BIN)/pip install -e '.[dev]'

demo: ## Explain an example image; writes explanation.json and explanation.png
	$(BIN)/milp-verix explain examples/digits.onnx 'examples/digits.npz:images[0]' --epsilon 0.1 --json explanation.json --plot explanation.png

paper: ## Make the tables and figures of the VeriX paper on small images, in paper/
	$(BIN)/python -m benchmarks.paper --scale small --out paper

test: ## Run the tests; CI runs more of them, by pytest --seeds 4
	$(BIN)/pytest

lint: ## Check style, formatting, the direction of imports and the workflows; notebooks hold no output
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/nbstripout --verify $(NOTEBOOKS)
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

types: ## Check types
	$(BIN)/mypy

campaign: ## Compare random answers with listed points for HOURS, 2 by default
	$(BIN)/python -m tests.campaign --hours $(HOURS) --journal campaign.jsonl

results: ## Write all tables of benchmarks/ from SHARED, a folder of models and data, and go on; or print less, FAST=1
	$(BIN)/python benchmarks/results.py $(SHARED) --folder runs $(if $(FAST),--fast)

study: ## Compare solvers on the checks of SHARED, a folder of models and data, and go on; a check of each model, FAST=1
	mkdir -p runs
	for stage in main $(if $(FAST),,spread shipped formulations); do $(BIN)/python benchmarks/solver_study.py --shared $(SHARED) --stage $$stage --journal runs/$(if $(FAST),fast-)$$stage.jsonl $(if $(FAST),--checks 1) || exit 1; done

notebooks: ## Execute the notebooks
	$(BIN)/jupyter-execute --timeout=900 $(filter-out $(WITHOUT_TORCH),$(NOTEBOOKS))

docs: ## Build the documentation site into docs/_build/html; executes the notebooks
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

dist: ## Build sdist and wheel into dist/, and check them
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

check: ## Do all that CI does, in a .venv made afresh
	.ci/run

clean: ## Remove what builds, checks and the demo leave behind
	rm -rf build dist paper docs/made docs/_build explanation.json explanation.png
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find milp_verix encodings checker tests examples benchmarks notebooks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
