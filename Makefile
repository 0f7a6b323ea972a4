# make quick   the inner loop: format, vet, lint and unit tests, in under 90 s
# make test    all checks and tests; installs what they need where it may
# make build   the binary, in bin/
# make prove   the proof: the stated and the larger explored scope, and 100,000 simulated runs
# make kills   one process, killed 2,000 times
# make faults  three nodes on PostgreSQL and Redis under faults, 30 minutes each
# make fuzz    every fuzz target for a while (FUZZTIME=30s)
# make vuln    known vulnerabilities in what the program calls (VULNDB=URL: another database)
# make bench   the Go benchmarks
# make mutants small changes to what decides; lists those that no check notices
#              (PACKAGE=./turn SEED=1 SAMPLE=200 BUDGET=20m for each package;
#              ONLY=FILE tries again what the output of a run lists)
# make size    lines of Go in the product, and the share of comments
# make screenshots  the pictures in docs/screenshots

SHELL := /bin/bash
FUZZTIME ?= 30s
PACKAGE ?= # all that mutants knows
SEED ?= 1
SAMPLE ?= 200
BUDGET ?= 20m

.PHONY: quick test build setup check unit quickproof browser prove fuzz vuln bench kills faults screenshots mutants size

quick:
	@scripts/quick

test: setup
	@scripts/check
	@scripts/tests
	@scripts/report

setup:
	@scripts/setup

build:
	CGO_ENABLED=0 go build -trimpath -o bin/onereply ./cmd/onereply

# What runs nothing: formatting, vet, lint, and that the binary builds without
# cgo, also for other systems.
check:
	@scripts/check
	@scripts/builds

unit:
	@scripts/unit

quickproof:
	@scripts/prove

browser:
	@scripts/browser

prove:
	@scripts/prove long

kills:
	cd e2e && go test -count=1 -timeout 60m -run TestKill . -kills=2000

faults:
	cd e2e && go test -count=1 -timeout 120m -run TestSeveralNodes -v . -faults=30m

fuzz:
	@scripts/fuzz $(FUZZTIME)

vuln:
	@scripts/vuln

bench:
	go test -run '^$$' -bench . -benchmem ./...

screenshots:
	cd e2e && ONEREPLY_SCREENSHOTS=$(CURDIR)/docs/screenshots go test -count=1 -run TestScreenshots .

mutants:
	@cd tools && go run ./mutants -root .. -seed $(SEED) -sample $(SAMPLE) -budget $(BUDGET) $(if $(ONLY),-only $(abspath $(ONLY))) $(PACKAGE)

size:
	@scripts/size
