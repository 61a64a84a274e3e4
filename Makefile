# kaasadmin: `make up` runs everything, `make test` proves it. `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NAME ?= script
EVENTS ?= 1000000
SEQUENCES ?= 2000
REQUESTS ?= 1000000
ROUNDS ?= 500
SEED ?=
EXAMPLES ?= 500
SOCKETS ?= 10000
CLAIMS ?= requests rebalance_time records listing latency startup cpu

.PHONY: help up stop token demo test check format lock docs tour pictures simulate schemathesis sockets \
	oracle fuzz clients franz-go frames crash bench performance clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(VENV)/.installed: requirements.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

up: $(VENV)/.installed ## install, migrate and start everything; Ctrl-C stops it
	@exec $(BIN)/python manage.py up

stop: ## stop what `make up` started from another terminal
	@$(BIN)/python manage.py down

token: $(VENV)/.installed ## print an API token of the first administrator (NAME=… names it)
	@$(BIN)/python manage.py token_create $(NAME)

demo: $(VENV)/.installed ## drive lifelike groups against what `make up` started
	@exec $(BIN)/python manage.py demo

test: $(VENV)/.installed-dev ## install what tests need and run them all
	@$(BIN)/python -m pytest -n 2 --dist loadfile -q

check: $(VENV)/.installed-dev ## the one gate: format, lint, types, imports, migrations, tidiness
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python manage.py makemigrations --check --dry-run
	@$(BIN)/python manage.py spectacular --validate --fail-on-warn --file /dev/null
	@$(BIN)/python -m pytest -q tests/test_tidy.py

format: $(VENV)/.installed-dev ## format and sort
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lock: $(VENV)/.installed-dev ## pin versions anew from pyproject.toml
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --no-header --no-emit-index-url pyproject.toml -o requirements.txt
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --no-header --no-emit-index-url --extra dev -c requirements.txt pyproject.toml -o requirements-dev.txt

tour: $(VENV)/.installed-dev ## make the pictures of docs/TOUR.md anew
	@$(BIN)/python -m tests.tour

pictures: $(VENV)/.installed-dev ## a picture of every page, wide and narrow, light and dark
	@$(BIN)/python -m tests.pictures

docs: $(VENV)/.installed-dev ## write the generated pages of docs/ anew
	@$(BIN)/python manage.py docs

simulate: $(VENV)/.installed-dev ## the coordinator under random schedules (EVENTS=…, SEED=…)
	@$(BIN)/python -m tests.simulation --events $(EVENTS) $(if $(SEED),--seed $(SEED))

schemathesis: $(VENV)/.installed-dev ## the API under random requests for minutes (EXAMPLES=… for each operation)
	@KAAS_FUZZ_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -q --timeout 3600 kaasadmin/tests/test_fuzzing.py

oracle: $(VENV)/.installed-dev ## what a coordinator must do, against a real Apache Kafka broker and ours
	@KAAS_REQUIRE_ALL=1 KAAS_PEERS=apache,ours $(BIN)/python -m pytest -n 2 --dist loadfile -q tests/conformance/oracle

fuzz: $(VENV)/.installed-dev ## the same random requests to Apache Kafka and ours (SEQUENCES=…, SEED=…)
	@$(BIN)/python -m tests.conformance.differential --sequences $(SEQUENCES) $(if $(SEED),--seed $(SEED))

clients: $(VENV)/.installed-dev ## real clients of five languages and Apache's tools (ONLY='split.*')
	@$(BIN)/python -m tests.conformance.clients $(if $(ONLY),--only $(ONLY))

franz-go: $(VENV)/.installed-dev ## franz-go's own integration tests (BOOTSTRAP=apache or host:port)
	@$(BIN)/python -m tests.conformance.franz_go $(BOOTSTRAP)

frames: $(VENV)/.installed-dev ## damaged requests, with the broker's memory watched (REQUESTS=…, SEED=…)
	@$(BIN)/python -m tests.conformance.frames --requests $(REQUESTS) $(if $(SEED),--seed $(SEED))

crash: $(VENV)/.installed-dev ## the broker killed under load, full disks, torn files (ROUNDS=…)
	@KAAS_CRASH_ROUNDS=$(ROUNDS) $(BIN)/python -m pytest -q tests/crash

bench: $(VENV)/.installed-dev ## ratios to a warm Apache Kafka, one table per claim (CLAIMS='requests cpu')
	@for claim in $(CLAIMS); do $(BIN)/python -m benchmarks.$$claim || exit 1; done

sockets: $(VENV)/.installed-dev ## ten thousand live sockets that never read (SOCKETS=…): memory stays bounded
	@KAAS_IDLE_SOCKETS=$(SOCKETS) $(BIN)/python -m pytest -q --timeout 900 kaasadmin/tests/test_idle_sockets.py

performance: $(VENV)/.installed-dev ## this coordinator beside Apache Kafka and kfake: the table of docs/PERFORMANCE.md
	@$(BIN)/python -m benchmarks.coordinators --write 1

clean: ## remove what make made (not the data folder)
	@rm -rf $(VENV) staticfiles .mypy_cache .ruff_cache .import_linter_cache
