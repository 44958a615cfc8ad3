# Everything runs in .venv, which every target makes or brings up to date by itself.
PYTHON_IN := .venv/bin/python
READY := .venv/.ready
# What is fetched for .venv and for the tests is fetched at the same time.
MAKEFLAGS += --jobs=2

.PHONY: help demo test quick clients lint format bench docs screenshots packages agents peers

help: ## print these lines
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' Makefile

demo: $(READY) ## walk a workflow from start to end and say what happens
	@.venv/bin/handrail demo

test: $(READY) packages ## run every check, every test and the demo; print the minutes beside their budget
	@$(PYTHON_IN) tools/test.py

quick: $(READY) ## run style, types, imports and the tests of the pure packages and of one path of each face
	@$(PYTHON_IN) tools/test.py lint types imports quick

clients: $(READY) packages agents ## drive the command lines of agents: Claude Code, Codex, Gemini CLI (900 MB)
	@$(PYTHON_IN) tools/test.py clients

lint: $(READY) ## check style, types and who imports whom
	@$(PYTHON_IN) tools/test.py lint types imports

format: $(READY) ## format the code and mend what can be mended
	@$(PYTHON_IN) -m ruff check --fix
	@$(PYTHON_IN) -m ruff format

bench: $(READY) packages peers ## print every measured figure beside its goal, and write docs/benchmarks.md
	@tools/bench

screenshots: $(READY) packages ## take pictures of every page, light, dark and on a phone, into screenshots/
	@PYTHONPATH=tests:. $(PYTHON_IN) -m tools.screenshots

docs: $(READY) ## write docs/reference/ and the skill of the plugin anew, and the documentation as a site into site/
	@$(PYTHON_IN) tools/docs.py
	@$(PYTHON_IN) tools/docs_site.py

packages:
	@tools/setup packages

agents:
	@tools/setup agents

peers:
	@tools/setup peers

$(READY): pyproject.toml constraints.txt tools/setup
	@tools/setup
