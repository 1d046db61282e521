# Nacre. A newcomer's two commands: `make demo` and `make test`.
.PHONY: help setup build demo test test-peers bench fuzz conformance lint pictures docs sabotage clean

help:  ## what there is to type
	@grep -E '^[a-z-]+:.*##' Makefile | sed -e 's/:.*## /\t/' | expand -t 14

setup:  ## install what is missing (packages.txt, a Python venv)
	scripts/setup

build: setup  ## build everything
	swift build

demo: setup  ## the Messages example: a window, or the whole journey by itself where there is no display
	scripts/demo $(APP)

test: setup  ## everything CI runs
	scripts/test

test-peers: setup  ## the journeys against third-party identity providers, real bundles, and the whole sabotage list
	scripts/test-peers

conformance: setup  ## the named OpenID relying-party cases, one a line
	scripts/conformance

bench: setup  ## figures against the named peers, into docs/performance.md
	scripts/bench

fuzz: setup  ## the strict parsers under libFuzzer, a minute each
	scripts/fuzz

lint:  ## format, layers, listed guards
	scripts/lint

sabotage: setup  ## switch off each guard and expect red
	scripts/sabotage

pictures: setup  ## every state of the example pages, into build/pictures
	scripts/pictures-messages --sheets

docs: setup  ## the reference of the public modules, into build/docs
	scripts/docs

clean:  ## remove what building made
	rm -rf .build build
