# Everything runs in .venv, which every target makes or brings up to date by itself.
PYTHON_IN := .venv/bin/python
READY := .venv/.ready

.PHONY: help demo test lint format bench docs screenshots

help: ## print these lines
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' Makefile

demo: $(READY) ## walk a workflow from start to end and say what happens
	@.venv/bin/handrail demo

test: $(READY) ## run every check, every test and the demo; print the minutes beside their budget
	@tools/setup packages
	@$(PYTHON_IN) tools/test.py

lint: $(READY) ## check style, types and who imports whom
	@$(PYTHON_IN) tools/test.py lint types imports

format: $(READY) ## format the code and mend what can be mended
	@$(PYTHON_IN) -m ruff check --fix
	@$(PYTHON_IN) -m ruff format

bench: $(READY) ## print every measured figure beside its goal, and write docs/benchmarks.md
	@tools/setup packages
	@tools/setup peers
	@tools/bench

screenshots: $(READY) ## take pictures of every page, light, dark and on a phone, into screenshots/
	@tools/setup packages
	@PYTHONPATH=tests:. $(PYTHON_IN) -m tools.screenshots

docs: $(READY) ## write docs/reference/ and the skill of the plugin anew, and the documentation as a site into site/
	@$(PYTHON_IN) tools/docs.py
	@$(PYTHON_IN) tools/docs_site.py

$(READY): pyproject.toml constraints.txt tools/setup
	@tools/setup
