# Every target installs what it needs, except for Go and make; a C compiler for the
# tests (the race detector requires cgo); and Node.js 20.19 or newer with npm for the
# web pages (otherwise, the binary serves a page that explains how to build them).

GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := .tools/golangci-lint-$(GOLANGCI_LINT_VERSION)
GO_TEST_FLAGS ?=
# The race detector instruments everything except SQLite, which is C translated to Go:
# instrumented, it would take most of the CPU time of the tests, and it shares no memory
# with Go code; and the pictures of the demo, which one goroutine draws.
RACE := -race -gcflags=modernc.org/...=-race=false -gcflags=ovation/cmd/ovation/internal/demo/picture=-race=false
# By default, a process with the race detector sleeps for a second before it exits, so that
# goroutines that still run can report races. Packages that start goroutines wait for them.
export GORACE ?= atexit_sleep_ms=0
# make lint runs more of vet's analyzers. Linking without symbols and debug information
# (-s) takes almost half the time.
LEAN := -vet=off -ldflags=-s
# Most tests wait rather than compute: for leases to expire, for breakers to close, for
# servers to start. So more of them run at once than there are processors.
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
PARALLEL := -p $(shell echo $$(($(PROCESSORS) + 1))) -parallel $(shell echo $$((2 * $(PROCESSORS) + 2)))
# All checkouts share the build cache (-trimpath).
export GOFLAGS := $(strip $(or $(GOFLAGS),$(shell go env GOFLAGS 2>/dev/null)) -trimpath)
# Tests that test-long runs, separated by spaces; all tests of the long tier if empty.
LONG ?=
# Flags of bench and bench-quick; bin/bench -help lists them.
BENCH_FLAGS ?=
# Flags of load: for example -people 100 -during 10s.
LOAD_FLAGS ?=
# Flags of bench-growth: for example -max-states 1000000 omits the size of ten million.
GROWTH_FLAGS ?=
# Without retries, npm fails fast when offline; CI keeps the retries.
NPM_PATIENCE := $(if $(CI),,--fetch-retries=0)
EXAMPLES := examples/apollo examples/urql
GATEWAY := examples/federation
# The version is that of the latest tag or, without tags, that in cmd/ovation/version.go.
VERSION := $(shell git describe --tags --dirty 2>/dev/null | sed 's/^v//' | grep . || sed -n 's/^var version = "\(.*\)"$$/\1/p' cmd/ovation/version.go)
# make install installs the program in PREFIX/bin.
PREFIX ?= $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

.PHONY: help
help: ## Show what there is to make
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Run

.PHONY: run
run: build ## Build, start with demo data on 127.0.0.1:8080 and print the URLs
	@bin/ovation dev --demo

.PHONY: stack
stack: build ## Build, start with all services: 2 API nodes and 2 workers behind 127.0.0.1:8080
	@scripts/services run bin/ovation stack

##@ Build

.PHONY: build
build: web ## Build bin/ovation, the pages included
	@mkdir -p bin
	@echo 'compiling bin/ovation: minutes the first time, without output, then seconds'
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ovation ./cmd/ovation

.PHONY: install
install: build ## Install ovation into PREFIX/bin: /usr/local/bin for root, else ~/.local/bin
	@install -d '$(DESTDIR)$(PREFIX)/bin'
	@install -m 755 bin/ovation '$(DESTDIR)$(PREFIX)/bin/ovation'
	@echo 'installed $(DESTDIR)$(PREFIX)/bin/ovation'

.PHONY: release
release: web ## Build the files of a release into dist/: linux and macOS on amd64 and arm64, checksums, SBOMs
	scripts/release '$(VERSION)'

.PHONY: web
web: web/dist/.built ## Build the pages; without npm the binary explains how to build them

# If npm is missing or fails, this file is not created, and the targets that depend on it
# do without.
web/node_modules/.installed: web/package.json web/package-lock.json web/client/package.json
	@rm -f $@; \
	if ! command -v npm >/dev/null; then \
		echo 'npm is not installed'; \
	elif echo 'installing the npm packages of the pages: a minute or two, without output' && (cd web && npm ci --prefer-offline --no-audit --no-fund --loglevel=error $(NPM_PATIENCE)); then \
		touch $@; \
	else \
		echo 'npm could not install the packages of the pages (see above)'; \
		[ -z "$${CI:-}" ]; \
	fi

web/dist/.built: web/node_modules/.installed $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/dist/*' -not -path 'web/client/dist/*' -not -name '*.go')
	@if [ -e $< ] && (cd web && npm run --silent build); then \
		touch $@; \
	else \
		find web/dist -mindepth 1 -not -name placeholder.html -delete; \
		echo 'building without the pages (see above)'; \
		[ -z "$${CI:-}" ]; \
	fi

# Builds @ovation/client alone, for the tests and the examples.
web/node_modules/.client: web/node_modules/.installed web/client/package.json web/client/tsconfig.json $(shell find web/client/src -type f)
	@if [ -e $< ]; then (cd web && npm run --silent build --workspace client) && touch $@; fi

.PHONY: client
client: web/node_modules/.client ## Pack @ovation/client, for Apollo Client, urql and graphql-ws, into bin
	@[ -e $< ]
	@mkdir -p bin
	cd web/client && npm pack --silent --pack-destination ../../bin

.PHONY: examples
examples: $(EXAMPLES:%=%/node_modules/.installed) # installs the npm packages of the examples

examples/%/node_modules/.installed: examples/%/package.json examples/%/package-lock.json web/node_modules/.client
	@rm -f $@; \
	if [ -e web/node_modules/.client ]; then \
		echo 'installing the npm packages of examples/$*: a minute or two, without output'; \
		if (cd examples/$* && npm ci --prefer-offline --no-audit --no-fund --loglevel=error $(NPM_PATIENCE)); then \
			touch $@; \
		else \
			echo 'npm could not install the packages of examples/$* (see above)'; \
			[ -z "$${CI:-}" ]; \
		fi; \
	fi

##@ Test

.PHONY: test
test: web ffmpeg ## Test everything, with the race detector; starts Postgres, Redis and RabbitMQ
	scripts/services run go test $(RACE) $(LEAN) $(PARALLEL) -timeout 30m $(GO_TEST_FLAGS) $(SLOWEST) ./...

# The slowest packages start first, so that none of them is still running alone at the end.
SLOWEST := ./cmd/ovation ./storage/redis ./storage/postgres ./worker/amqp

# The tests of the long tier have the build tag long. Their names begin with TestLong or, if
# they assert durations, with TestFigure. LONG selects from them and from make model.
long-files = $(shell grep -rlE --include='*_test.go' --exclude-dir=node_modules '^//go:build long' .)
long-tests = $(sort $(shell grep -hoE '^func Test(Long|Figure)[A-Za-z0-9]*' $(long-files) | cut -c 6-))
# The selected tests with a prefix, joined by |, and the packages that contain them.
empty :=
long-chosen = $(subst $(empty) $(empty),|,$(filter $(or $(LONG),%),$(filter $(1)%,$(long-tests))))
long-packages = $(sort $(dir $(shell grep -lE '^func ($(call long-chosen,$(1)))\b' $(long-files))))
long-run = $(if $(call long-chosen,$(1)),scripts/services run go test $(2) $(LEAN) -tags long -count 1 -p 1 -v -run '^($(call long-chosen,$(1)))$$' $(GO_TEST_FLAGS) $(call long-packages,$(1)))
ifneq ($(LONG),)
$(if $(filter-out model $(long-tests),$(LONG)),$(error these tests are not in the long tier: $(filter-out model $(long-tests),$(LONG))))
endif

.PHONY: test-long
test-long: web ffmpeg $(if $(LONG),$(filter model,$(LONG)) $(if $(findstring Browser,$(LONG)),examples chromium) $(if $(findstring Gateway,$(LONG)),$(GATEWAY)/node_modules/.installed),model examples chromium $(GATEWAY)/node_modules/.installed) ## Run the long tier: every fault, 1,000 clients, 100,000 steps, new seeds (OVATION_SEED sets one), figures; LONG='TestA TestB' runs these alone
	$(call long-run,TestLong,$(RACE) -parallel 4 -timeout 60m)
	$(call long-run,TestFigure,-timeout 20m)

.PHONY: test-web
test-web: web examples chromium ffmpeg ## Test the pages and the examples in headless Chromium, with one process and with services; SHOTS=folder keeps pictures
	$(if $(SHOTS),mkdir -p $(SHOTS))
	scripts/services run go test -tags long -count 1 -v -timeout 15m -run 'Browser|DemoPage' $(if $(SHOTS),-artifacts -outputdir $(abspath $(SHOTS))) ./cmd/ovation

.PHONY: ffmpeg
ffmpeg: # makes the covers of videos
	@if ! command -v ffmpeg >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo 'installing ffmpeg with apt'; \
		apt='env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300'; \
		$$apt install -y --no-install-recommends ffmpeg >/dev/null 2>&1 || \
			{ $$apt update && $$apt install -y --no-install-recommends ffmpeg >/dev/null; } || true; \
	fi; \
	command -v ffmpeg >/dev/null || \
		{ echo 'ffmpeg is not installed: covers are only tested with scripts in its place'; [ -z "$${CI:-}" ]; }

.PHONY: chromium
chromium: # runs the checks of the pages; CHROMIUM names another browser
	@if ! [ -x "$${CHROMIUM:-/usr/bin/chromium}" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo 'installing chromium with apt'; \
		apt='env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300'; \
		$$apt install -y --no-install-recommends chromium >/dev/null 2>&1 || \
			{ $$apt update && $$apt install -y --no-install-recommends chromium >/dev/null; } || true; \
	fi; \
	[ -x "$${CHROMIUM:-/usr/bin/chromium}" ] || \
		{ echo 'chromium is not installed: the pages are not checked in a browser'; [ -z "$${CI:-}" ]; }

.PHONY: test-services
test-services: ## Test scripts/services, if the servers are installed: start, kill, restart, stop
	scripts/services_test

.PHONY: test-image
test-image: build ## Test, as root and without docker, that bin/ovation runs as in the image
	scripts/services run scripts/image_test

.PHONY: test-faults
test-faults: ## Run the part of test-long that kills, pauses and disconnects every process under load
	go test $(RACE) $(LEAN) -tags long -count 1 -v -timeout 60m -run '^TestLong' ./internal/testing/faults

.PHONY: model
model: ## Run the models of the mirror and of commit, then tell, in two minutes (Python 3)
	python3 -B docs/model/mirror/own_writes.py
	python3 -B docs/model/commit_then_tell.py

##@ Measure

.PHONY: bench
bench: bench-build ## Measure the targets of the project, beside the floor, in a quarter of an hour; writes bench/REPORT.md
	scripts/services run bin/bench -report bench/REPORT.md $(BENCH_FLAGS)

.PHONY: bench-quick
bench-quick: bench-build ## Run bench with short rounds, in five minutes; writes no file
	scripts/services run bin/bench -quick $(BENCH_FLAGS)

.PHONY: load
load: bench-build ffmpeg ## Simulate 500 people for a minute with two nodes and two workers: feed, clips, likes, comments, follows, chat, uploads
	scripts/services run bin/bench day $(LOAD_FLAGS)

.PHONY: bench-growth
bench-growth: bench-build ## Measure the cost of pages and likes at 10,000 to 10 million states, and the size of Redis, in a quarter of an hour; writes bench/GROWTH.md
	scripts/services run bin/bench growth -report bench/GROWTH.md $(GROWTH_FLAGS)

.PHONY: bench-build
bench-build: build
	CGO_ENABLED=0 go build -trimpath -o bin/bench ./bench
	CGO_ENABLED=0 go build -trimpath -o bin/floor ./bench/floor

.PHONY: bench-go
bench-go: ## Run the Go benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-import
bench-import: ## Import a million rows of real data into each store, and verify the counts
	scripts/services run go test -run '^$$' -bench Import -benchtime 3x -v ./cmd/ovation

##@ Check and generate

.PHONY: lint
lint: $(GOLANGCI_LINT) verify-generated lint-scripts lint-web ## Check style, imports between packages, generated code, scripts, the pages' types and go.mod
	$(GOLANGCI_LINT) run ./...
	go mod tidy -diff

.PHONY: lint-scripts
lint-scripts: ## Check the scripts with shellcheck (installed with apt if root), and the list of the long tier
	@.ci/draw >/dev/null
	@if ! command -v shellcheck >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo 'installing shellcheck with apt'; \
		apt='env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300'; \
		$$apt install -y --no-install-recommends shellcheck >/dev/null 2>&1 || \
			{ $$apt update && $$apt install -y --no-install-recommends shellcheck >/dev/null; } || true; \
	fi; \
	if command -v shellcheck >/dev/null; then \
		shellcheck -x $$(find scripts .ci -type f -not -name '*.yml' -not -name '*.conf' -not -name '*.py' -not -name '*.txt'); \
	else \
		echo 'shellcheck is not installed: the scripts are not checked. Install the package shellcheck.'; \
		[ -z "$${CI:-}" ]; \
	fi

.PHONY: lint-web
lint-web: web/node_modules/.installed examples ## Check the types of the pages, the package and the examples, the operations against the schema, and the pages' SBOM
	@if [ -e $< ]; then \
		(cd web && npm run --silent check && npm run --silent sbom >/dev/null); \
		for example in $(EXAMPLES); do if [ -e $$example/node_modules/.installed ]; then (cd $$example && npm run --silent check); fi; done; \
	else \
		echo 'without npm the types of the pages are not checked'; \
		[ -z "$${CI:-}" ]; \
	fi

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the code
	$(GOLANGCI_LINT) fmt ./...

.PHONY: generate
generate: web/node_modules/.installed ## Regenerate graph/, storage/calls, the pages' types and docs/flags.md
	go run ./internal/generate
	go run ./cmd/ovation flags >docs/flags.md
	@if [ -e $< ]; then cd web && npm run --silent generate; else echo 'without npm the types of the pages are not generated'; fi

.PHONY: verify-generated
verify-generated: ## Check that the generated code is up to date
	@# The generator deletes graph/ before it parses, so what it writes is always restored.
	@old=$$(mktemp -d); cp -p graph/* storage/calls/store.go "$$old"; \
	trap 'rm -f graph/*; cp -p "$$old"/* graph; mv graph/store.go storage/calls; rm -rf "$$old"' EXIT; \
	go run ./internal/generate; \
	cp -p storage/calls/store.go graph; \
	diff -q "$$old" graph || { echo 'generated code is not up to date: run make generate'; exit 1; }

.PHONY: pictures
pictures: build chromium ## Retake the pictures of README.md in headless Chromium
	scripts/pictures

##@ Clean

.PHONY: clean
clean: ## Remove build outputs; data is kept
	rm -rf bin dist .tools web/node_modules web/client/dist $(EXAMPLES:%=%/node_modules) $(EXAMPLES:%=%/dist) $(GATEWAY)/node_modules coverage.out
	find web/dist -mindepth 1 -not -name placeholder.html -delete

$(GOLANGCI_LINT):
	@mkdir -p .tools
	GOBIN=$(CURDIR)/.tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv .tools/golangci-lint $@
