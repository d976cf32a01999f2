# The commands of the project; `make` without a target lists them.
#   PYTHON=...  the Python for .venv (3.11 or later)
#   PORT=...    the port of `make ui`
#   CONFIGS=... the folder of another lake for make demo and make ui, see `paimon-lake new`
#   ARGS=...    more arguments for pytest, the demo or the benchmark, such as make test ARGS="-k merge"

PORT ?= 3000
ARGS ?=
CONFIGS ?=
EXTRAS ?=

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest --numprocesses 4 --dist loadfile
QUICK := tests/architecture tests/bad_inputs tests/golden tests/unit tests/pipelines/declarations
# The tests start many processes: none compiles a module again that another has compiled.
unexport PYTHONDONTWRITEBYTECODE
# Spark's workers use python3 from the PATH by default; they must use the interpreter of .venv.
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(PYSPARK_PYTHON)

.DEFAULT_GOAL := help
.PHONY: help setup setup-java setup-run demo ui quick test test-long check lint types layers format reference docs bench bench-huge bench-commits bench-planning bench-indexes bench-reads bench-spark cluster-archive clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: ## create .venv and install the packages of the project
	@scripts/setup.sh

setup-java:
	@scripts/setup.sh --java

setup-run:
	@scripts/setup.sh --java --run

demo: setup-run ## run the main job: build, maintain and query a lake under ./lake
	@$(BIN)/python -m assets.demo $(if $(CONFIGS),--configs "$(CONFIGS)") $(ARGS)

ui: setup-run ## open Dagster for the lake that `make demo` built
	@$(BIN)/python -m paimon_dagster.ui $(if $(CONFIGS),--configs "$(CONFIGS)") --port "$(PORT)"

quick: setup ## run the tests that are fast and need no Java, browser, server or other program
	@$(PYTEST) -m "not long and not slow and not java and not spark and not programs" $(QUICK) $(ARGS)

test: setup-java ## run the tests, without the long ones
	@$(PYTEST) --durations 50 -m "not long" $(ARGS)

test-long: setup-java ## run the long tests, and the properties with more examples
	@$(PYTEST) --durations 20 -m long --hypothesis-profile long $(ARGS)

check: lint types layers ## check lint rules, formatting, types and layers

lint: setup
	@$(BIN)/ruff check --output-format=concise .
	@$(BIN)/ruff format --check .

types: setup
	@$(BIN)/mypy

layers: setup
	@$(BIN)/lint-imports

format: setup ## format the code as `make check` requires
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

reference: setup ## write the reference pages of docs/ and configs/schema
	@$(BIN)/python -m scripts.reference_pages

docs: setup ## build the site of the documentation into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "build/site/index.html; search needs a server: $(BIN)/python -m http.server --directory build/site"

bench: setup ## write build/bench/report.html: all operations beside other libraries and their limits (ARGS=--smoke)
	@$(BIN)/python -m benchmarks.report $(ARGS)

bench-huge: setup ## simulate the metadata of a table of 100,000,000 files into build/bench
	@$(BIN)/python -m benchmarks.huge_table $(ARGS)

bench-commits: setup ## time commits on long histories and many files, and expiry, compared with Java Paimon
	@$(BIN)/python -m benchmarks.commits $(ARGS)

bench-planning: setup ## measure plans and one-row commits on tables of 100 to 300,000 files, compared with Java Paimon
	@$(BIN)/python -m benchmarks.planning $(ARGS)

bench-indexes: setup ## time the choice of buckets, queries of a key and deletes, compared with Java Paimon
	@$(BIN)/python -m benchmarks.bucket_assignment
	@$(BIN)/python -m benchmarks.indexes

bench-reads: setup ## time queries, counts, extremes and limits, compared with Java Paimon and pypaimon
	@$(BIN)/python -m benchmarks.reads $(ARGS)

bench-spark: setup ## measure Spark jobs, compared with plain Parquet through Spark and this library alone
	@$(BIN)/python -m benchmarks.spark $(ARGS)

cluster-archive: setup ## write build/paimon.tar.gz, the packages for the workers of a Spark cluster (EXTRAS=s3,polars)
	@$(BIN)/paimon-core cluster-archive build/paimon.tar.gz $(if $(EXTRAS),--extras "$(EXTRAS)")

clean: ## delete the lake and all caches, but not .venv
	@rm -rf lake .dagster spark-warehouse metastore_db derby.log build dist *.egg-info
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -path ./.venv -prune -o -name __pycache__ -type d -exec rm -rf {} +
