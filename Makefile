# Every target sets up what it needs: a virtual environment in .venv with the pinned packages.
PYTHON ?= python3
BIN := .venv/bin
# How many processes test at the same time. Each collects every test, which takes it ten seconds; every file of tests is
# run by one of them, which makes its fixtures once.
WORKERS ?= 2
# Compiled modules are kept, whatever the environment says: the tests start many processes.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: help soak soaked stops full-disks leaving bombing hiding demo demo-night demo-http check test tested tested_fast coverage oldest lint fuzz kills audit docs reference site
.PHONY: styled typed warm pictures benchmark calibration clean wheel

# What there is to make: the first line of what stands above each target.
help:
	@awk '/^# / {if (!said) said = substr($$0, 3); next} /^[a-z-]+:([^=]|$$)/ {sub(/:.*/, "", $$1); \
		if (said) printf "make %-12s %s\n", $$1, said} {said = ""}' $(MAKEFILE_LIST)

# Evaluates the demo's rankings, as a user would.
demo: .venv/demo
	$(BIN)/ndcg-ab run configs/demo.yaml

# A second night after `make demo`: stricter judgments (grade 1 counts nothing), and all-words is another version.
demo-night: .venv/demo
	awk 'BEGIN {FS = OFS = "\t"} $$3 == 1 {$$3 = 0} 1' configs/demo_judgments.tsv > .venv/strict_judgments.tsv
	$(BIN)/ndcg-ab run configs/demo.yaml --set judgments=../.venv/strict_judgments.tsv \
		--set systems.all-words.arguments.version=name-weighted

# The demo with a search engine that is asked over HTTP: it is started, filled, asked and ended.
demo-http: .venv/ready
	$(BIN)/python configs/demo_http.py

# Before every commit, in less than a minute: linters, types and the fast tests.
check: .venv/ready
	$(MAKE) --no-print-directory --jobs 2 lint tested_fast

tested_fast: .venv/ready
	$(PYTEST) --ignore tests/slow -m "not slow"

# Everything, in a few minutes: the same, and what needs servers, kills, a browser, a wheel or many repetitions.
test: .venv/ready
	$(MAKE) --no-print-directory --jobs 2 lint tested

tested: .venv/ready
	$(PYTEST)

# The same tests again: the coverage (branches, too) of all three packages is shown, and must not fall below COVERED.
coverage: .venv/ready
	$(PYTEST) --cov --cov-report term --cov-fail-under $(COVERED)
COVERED := 94

# The fast tests with the oldest packages that pyproject.toml admits, in an environment of their own.
oldest: .oldest/ready
	.oldest/bin/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --ignore tests/slow \
		--deselect tests/test_dependencies.py::test_ci_installs_the_versions_that_are_pinned -m "not slow"

lint: styled typed .venv/linted_sql

styled: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell ndcg_ab ndcg_core flows sql docs configs benchmarks README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md
	$(BIN)/python docs/docstrings.py $(PUBLIC)

# The modules that users and extensions import, and those of the records that they get.
PUBLIC := ndcg_core $(addprefix ndcg_ab/,__init__.py api testing results studies config/model errors.py trackers \
	engines/base.py sources/base.py sources/judgments/function_grades.py history/bundle.py history/failed_nights.py \
	comparing/since_last.py report/page/data.py)

typed: .venv/ready
	$(BIN)/mypy

# Only where the SQL or its rules have changed: it takes longer than all other linters.
.venv/linted_sql: .venv/ready pyproject.toml $(wildcard sql/*/*.sql)
	$(BIN)/sqlfluff lint --disable-progress-bar --processes 2 sql
	touch $@

# The dependencies by what their packages say of themselves: licences, versions that fit together, pins. No service is
# asked; where one can be reached, `pip-audit` knows the published weaknesses as well.
audit: .venv/ready
	$(BIN)/pytest tests/test_dependencies.py

# What repeats for confidence, for hours: `make test` holds a small case of each. What fails ends its own part alone.
soak: .venv/ready
	$(MAKE) --no-print-directory --keep-going coverage fuzz kills soaked stops full-disks leaving bombing hiding

# The tests marked soak, and the fast ones with every example.
soaked: .venv/ready
	$(PYTEST) $(PATIENT) -m soak
	NDCG_AB_EVERY_EXAMPLE=1 $(PYTEST) $(PATIENT) tests/ndcg_core tests/ndcg_ab tests/sql -m "not slow"
PATIENT := -o timeout=0 -o faulthandler_timeout=0

# Stops whole runs by signals, KILLS of them.
stops: .venv/ready
	$(BIN)/python -m tests.killing --kills 0 --seconds 0 --stops $(KILLS)

# Runs on disks with too little room, kills commands with temporary files, unpacks bombs, looks for secrets.
full-disks: .venv/ready
	$(BIN)/python -m tests.full_disks
leaving: .venv/ready
	$(BIN)/python -m tests.leaving
bombing: .venv/ready
	$(BIN)/python -m tests.bombing
hiding: .venv/ready
	$(BIN)/python -m tests.hiding

# Breaks files and configurations in every way for an hour, or SECONDS: a failing input is kept in build/fuzz/found.
# Before, texts go through the compiled reader under the address sanitizer, for a tenth of that. Then RANKINGS broken rankings are compared in the quick way and in the careful one, which must tell the same; and
# MISTAKES configurations, options and paths are given to the commands.
fuzz: .venv/ready
	$(BIN)/python -m tests.sanitizing --seconds $$(($(SECONDS) / 10))
	$(BIN)/python -m tests.fuzzing --seconds $(SECONDS)
	$(BIN)/python -m tests.two_ways --count $(RANKINGS)
	$(BIN)/python -m tests.mistaking --count $(MISTAKES)
MISTAKES ?= 20000
RANKINGS ?= 10000
SECONDS ?= 3600

# Kills KILLS nights at random moments, then lets two write one history and one read it for a minute.
kills: .venv/ready
	$(BIN)/python -m tests.killing --kills $(KILLS)
KILLS ?= 500

# Draws docs/pipeline.md and the packages in docs/architecture.md anew; a test holds them current.
docs: .venv/ready
	$(BIN)/python docs/draw.py

# The reference of the Python API, from its docstrings: build/site/reference/ndcg_ab.html. It is a part of the site.
reference: site

# The documentation as a site with a search, which needs no network: build/site/index.html.
site: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --config-file docs/site/mkdocs.yml

# Draws the README's pictures from the demo; a test holds them current.
pictures: .venv/ready
	$(BIN)/python docs/pictures.py

benchmark: .venv/ready
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/memory.py --share 0.2
	$(MAKE) --no-print-directory calibration

# Measures how often the statistics are wrong: the tables behind docs/calibration.md, into build/calibration/*.csv.
calibration: .venv/ready
	$(BIN)/python benchmarks/calibration.py --seed $(SEED) $(if $(QUICK),--quick)
SEED ?= 1

# What `make demo` needs is installed alone; the tests add their servers, browsers and other tools. uv installs in seconds
# where pip takes minutes; pip does it where uv cannot, as with an index that only pip is told of.
.venv/demo: pyproject.toml constraints.txt ndcg_ab/sources/fast_reader/ranking_reader.c
	$(call install,.[nightly])

# The linters take a minute the first time, and seconds from then on: what they keep is made with the environment, as are
# the empty stores that the tests begin with, and the compiled tests, which every process of pytest would compile anew.
.venv/ready: pyproject.toml constraints.txt ndcg_ab/sources/fast_reader/ranking_reader.c
	$(call install,$(WANTED))
	touch .venv/demo
	$(MAKE) --no-print-directory --jobs 2 --keep-going --assume-old $@ typed warm .venv/linted_sql >/dev/null 2>&1 || true
WANTED := .[test]

define install
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'ndcg-ab needs Python 3.11 or newer; say which with: make $(MAKECMDGOALS) PYTHON=python3.12')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt uv || true
	$(BIN)/uv pip install --quiet --constraint constraints.txt --editable "$(1)" || \
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable "$(1)"
	touch $@
endef

warm: .venv/ready
	$(BIN)/python -m tests.stores && $(BIN)/pytest --collect-only -qq

.oldest/ready: .venv/ready
	$(PYTHON) -m venv .oldest
	$(BIN)/uv pip install --quiet --python .oldest/bin/python --resolution lowest-direct --editable "$(WANTED)"
	touch .oldest/ready

# The wheel and the sources, into dist: what a release holds.
wheel: .venv/ready
	$(BIN)/uv build --quiet --out-dir dist

clean:
	rm -rf .venv .oldest build dist
