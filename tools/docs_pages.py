"""The pages of docs/reference/ about registries, tables and the library; `docs.py` writes them."""

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import handrail
from handrail.app.catalog import FILE_PROBLEM_CODES as FILES
from handrail.app.catalog import Catalog, FoundDefinition, open_catalog
from handrail.app.faces import load_message_catalog
from handrail.documents.front_matter import FRONT_MATTER_CODES as FRONT
from handrail.drawing.diagrams import format_mermaid
from handrail.drawing.graph import build_graph
from handrail.engine.contract import COMMON_FACTS
from handrail.engine.facts import Fact, Kind, Provenance, Value
from handrail.engine.lifecycle import LIFECYCLE_TABLE, TRIGGERS_NEEDING_REASON, is_terminal
from handrail.engine.model import Brief, State, Workflow
from handrail.engine.rows import EVENT_FACTS, RUN_FACTS
from handrail.engine.soundness import FINDING_CODES
from handrail.workflows.load import LOADING_CODES, load_workflow
from handrail.workflows.registry import BUILT_IN_REGISTRY, OK_FACT, PROBLEMS_FACT, DraftKind, EffectKind
from handrail.workflows.templates import FILTERS, render_template

SOURCE: Final = Path(handrail.__file__).parent
SAMPLE: Final = "bug-fix"
HEAD: Final = "<!-- Written by tools/docs.py from the code. Change the code, then run `make docs`. -->"
PROVENANCE: Final = {
    Provenance.MEASURED: "run or kept by the server, or signed by a person",
    Provenance.OBSERVED: "found in files or commits, which an agent can write too",
    Provenance.CLAIMED: "the caller says so",
}
PARAMS: Final = {
    "path": "a path below the task folder; `{fact}` and `{now}` may stand in it",
    "paths": "such a path, or a list of them",
    "draft": "a value of a draft of the same row, such as `marked.text`",
    "template": "the name of a text",
    "flag": "`true` or `false`",
}
SAMPLES: Final[Mapping[str, tuple[str, Value]]] = {
    "": ("as it is; a list with commas, anything else as JSON", ["plan.md", "task.md"]),
    "bullets": ("a list, one line for each item", ["plan.md", "task.md"]),
    "fence": ("a code block, with a fence longer than any in the text", "make test\n```"),
    "quote": ("quoted, line by line", "It fails.\nEvery time."),
    "count": ("how many items a list or a mapping has, or how many words a text", ["plan.md", "task.md"]),
    "path": ("as code, in a line", "src/save.py"),
    "json": ("as JSON", ["plan.md", "task.md"]),
}


def page(title: str, *parts: str) -> str:
    """A page with its head and its parts, each on a line of its own."""
    return "\n".join([HEAD, "", f"# {title}", "", *parts]).rstrip() + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; what would break a cell is escaped."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    lines = [list(heads), ["---"] * len(heads), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _code(values: Iterable[object], between: str = ", ") -> str:
    return between.join(f"`{value}`" for value in values)


# facts, drafts, effects, filters


def facts_page() -> str:
    """Everything a guard can name."""
    return page(
        "Facts",
        "A guard reads facts. `when` reads those of the world and `run.*`; `accept` also reads `event.*`,",
        "`output.*` and the facts of the row's drafts. A name that is not here is `unknown-fact` at load.\n",
        "## Who stands behind a fact\n",
        table(("provenance", "meaning"), [(f"`{p}`", meaning) for p, meaning in PROVENANCE.items()]),
        "\n## The world\n",
        _facts(sorted(BUILT_IN_REGISTRY.facts.values(), key=lambda fact: fact.name)),
        "\n## The run: `run.*`\n",
        _facts(RUN_FACTS),
        "\n`run.vars.NAME` is a variable of the workflow, `run.inputs.NAME` an input; both have the type",
        "they are declared with. An input or a variable that may be null is null until it is given.",
        "\n## The event: `event.*`\n",
        _facts(EVENT_FACTS),
        "\n`event.NAME` is a parameter of the tool that sent the trigger, as declared under `tools:`.",
        "\n## The step output: `output.*`\n",
        _facts(COMMON_FACTS),
        "\n`output.NAME` is a property of the contract's `schema:`; it may be null unless it is `required:`.",
        "These exist for rows on `continue` out of states with a task.",
        "\n## Drafts\n",
        f"A row with `draft: {{NAME: kind}}` may read `NAME.{OK_FACT}` (bool: the edit can be made),",
        f"`NAME.{PROBLEMS_FACT}` (strings: why not) and what the [draft](drafts.md) adds.",
    )


def _facts(facts: Iterable[Fact]) -> str:
    rows = [
        (f"`{f.name}`", f"`{f.type}`", _domain(f), f"`{f.provenance}`", f.about, _reader(f)) for f in facts
    ]
    return table(("fact", "type", "values", "provenance", "meaning", "read by"), rows)


def _domain(fact: Fact) -> str:
    values = _code(json.dumps(value) for value in fact.domain)
    if fact.type.kind is Kind.STATE:
        return "the states of the workflow"
    if fact.closed:
        return values
    return f"any; `check` tries {values}" if values else "any"


def _reader(fact: Fact) -> str:
    return f"`{fact.reader}`" + (f" of {_code(fact.of)}" if fact.of else "")


def drafts_page() -> str:
    """Every edit that can be tried on paper."""
    return page(
        "Drafts",
        "A draft tries an edit on paper, so that a row knows before it is taken whether the edit can be",
        "made. `draft: {marked: criteria.check_off}` tries one and calls it `marked`. Guards under `accept`",
        "read its facts, effects and texts take its values.\n",
        table(("draft", "what it tries", "facts", "values"), map(_draft, BUILT_IN_REGISTRY.drafts.values())),
        f"\nEvery draft has the facts `{OK_FACT}` and `{PROBLEMS_FACT}`.",
    )


def _draft(draft: DraftKind) -> tuple[str, str, str, str]:
    facts = [
        f"{OK_FACT}: bool",
        f"{PROBLEMS_FACT}: strings",
        *(f"{name}: {kind}" for name, kind in draft.facts.items()),
    ]
    return f"`{draft.name}`", draft.about, _code(facts), _code(draft.values)


def effects_page() -> str:
    """Every thing a row can do besides moving."""
    return page(
        "Effects",
        "A row lists under `do:` what is to be done once it is taken, in order. The decision only writes it",
        "down; nothing happens if the row is refused.\n",
        *(_effect(effect) for effect in BUILT_IN_REGISTRY.effects.values()),
        "## Kinds of value\n",
        table(("kind", "what stands there"), [(f"`{kind}`", meaning) for kind, meaning in PARAMS.items()]),
    )


def _effect(effect: EffectKind) -> str:
    one_of = f" Exactly one of {_code(sorted(effect.one_of), ' and ')}." if effect.one_of else ""
    rows = [
        (f"`{name}`", f"`{param.kind}`", "yes" if param.required else "no")
        for name, param in effect.params.items()
    ]
    about = effect.about[0].upper() + effect.about[1:]
    where = f"{about}.{one_of} Allowed with {_code((f'authority: {a}' for a in effect.authorities), ' or ')}."
    return f"## `{effect.name}`\n\n{where}\n\n{table(('key', 'kind', 'needed'), rows)}\n"


def filters_page() -> str:
    """Placeholders and filters, each with an example that the real code rendered."""
    rows = []
    for name in FILTERS:
        about, value = SAMPLES[name]
        template = f"{{{{files|{name}}}}}" if name else "{{files}}"
        made = json.dumps(render_template(template, {"files": value}), ensure_ascii=False)
        shown = (_ticked(text) for text in (template, json.dumps(value), made))
        rows.append((f"`{name}`" if name else "none", about, *shown))
    return page(
        "Texts: placeholders and filters",
        "A text knows `{{name}}` and `{{name|filter}}`, nothing else. There is no logic, and what is filled",
        "in is never looked at again. A name is a fact that the row can read, a value of one of its drafts,",
        "or `now`, the time of the turn. What a row says may name `archived` if the row archives: the folder",
        "that the files were moved to. The `task` of a step may name facts of the world and `run.*` only.",
        "In the paths of effects a name stands in single braces: `tasks/{task.name}`.\n",
        "A name that cannot be filled in is `unknown-placeholder` at load; other braces are",
        "`bad-placeholder`.\n",
        table(("filter", "shows a value", "example", "if `files` is", "gives, as a JSON string"), rows),
    )


def _ticked(text: str) -> str:
    return render_template("{{text|path}}", {"text": text})


# codes, lifecycles


def problems_page() -> str:
    """Every code of a problem, with what it means and how bad it is."""
    severity = severities(path.read_text("utf-8") for path in sorted((SOURCE / "engine").glob("*.py")))
    return page(
        "Problems",
        "`handrail workflows check` reports every problem with its place. An **error** keeps a workflow from",
        "loading or from working; a **warning** lets it run, though hardly as its author meant. The exit",
        "status is 1 for either.\n",
        "## While loading\n",
        "All of these are errors. A file that has one is not searched for those of the second table.\n",
        table(("code", "meaning"), [(f"`{code}`", LOADING_CODES[code]) for code in sorted(LOADING_CODES)]),
        "\n## In a workflow that loads\n",
        table(
            ("code", "severity", "meaning"),
            [(f"`{code}`", severity[code], FINDING_CODES[code]) for code in sorted(FINDING_CODES)],
        ),
        "\n## In a file that is found by its name, and in front matter\n",
        table(("code", "meaning"), [(f"`{code}`", answer) for code, answer in {**FILES, **FRONT}.items()]),
    )


def severities(sources: Iterable[str]) -> dict[str, str]:
    """How bad each code is, from the calls of `build_error` and `build_warning` that make the problems."""
    found: dict[str, str] = {}
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(
                    func=ast.Name(id="build_error" | "build_warning" as maker),
                    args=[ast.Constant(value=str(code)), *_],
                ):
                    found[code] = maker.removeprefix("build_")
                case _:
                    pass
    return found


def lifecycle_page() -> str:
    """The table of lifecycles by trigger, and its picture."""
    triggers = list(dict.fromkeys(trigger for row in LIFECYCLE_TABLE.values() for trigger in row))
    rows = [
        [f"`{state}`", *(f"`{row[trigger]}`" if trigger in row else "" for trigger in triggers)]
        for state, row in LIFECYCLE_TABLE.items()
    ]
    arrows = [
        f"    {state} --> {after}: {t}" for state, row in LIFECYCLE_TABLE.items() for t, after in row.items()
    ]
    ends = [state for state in LIFECYCLE_TABLE if is_terminal(state)]
    return page(
        "Lifecycles",
        "Whether a run has begun, is under way, rests or is over. Down: the lifecycle it has; across: the",
        "trigger; in the cell: the lifecycle it has then. An empty cell is refused as `not_running`.\n",
        table(["", *(f"`{trigger}`" for trigger in triggers)], rows),
        f"\n{_code(ends)} are never left. {_code(sorted(TRIGGERS_NEEDING_REASON))} need a reason.",
        "`continue` stands for every trigger of a workflow. No row may wait for the others. A run is",
        "`completed` when it comes to a terminal state and no step is left open, and `failed` when only",
        "states whose attempts are used up are left to go to.\n",
        "```mermaid\nstateDiagram-v2",
        f"    [*] --> {next(iter(LIFECYCLE_TABLE))}",
        *arrows,
        *(f"    {state} --> [*]" for state in ends),
        "```",
    )


# the library


def workflows_page() -> str:
    """Every workflow that comes with Handrail: its picture, its inputs and its states."""
    shelf = built_in()
    parts = (_workflow(loaded(shelf, found), found) for found in shelf.all())
    return page(
        "Built-in workflows",
        "`handrail workflows show NAME` prints one with its rows. A workflow of the same name in your",
        "project takes its place.\n",
        *parts,
    )


def built_in() -> Catalog:
    """The library alone: what this machine's user has beside it is no part of the reference."""
    whole = open_catalog(Path())
    return Catalog(whole.kind, tuple(rack for rack in whole.racks if rack.origin == "built-in"))


def sample() -> FoundDefinition:
    """The workflow that examples are made from. Raises `LookupError` if the library has none of that name."""
    found = built_in().find(SAMPLE)
    if found is None:
        raise LookupError(f"no built-in workflow is called {SAMPLE}")
    return found


def loaded(shelf: Catalog, found: FoundDefinition) -> Workflow:
    """The workflow of a file that must load."""
    workflow = load_workflow(found.source, shelf.source).workflow
    if workflow is None:
        raise ValueError(f"{found.path} does not load")
    return workflow


def _workflow(workflow: Workflow, found: FoundDefinition) -> str:
    inputs = [
        (f"`{v.name}`", f"`{v.type}`", _code(v.choices), "yes" if v.required else "no", v.about)
        for v in workflow.inputs.values()
    ]
    asked = table(("input", "type", "choices", "needed", "meaning"), inputs) if inputs else "No inputs."
    states = [_state(state) for state in workflow.states.values()]
    briefs = (_brief(name, s.brief) for name, s in workflow.states.items() if s.brief)
    where = found.path.relative_to(SOURCE.parent)
    return "\n".join(
        [
            f"## `{workflow.name}`\n",
            f"{workflow.about}. Version {workflow.version}, `authority: {workflow.authority}`,",
            f"in `src/{where}`.\n",
            asked,
            f"\n```mermaid\n{format_mermaid(build_graph(load_message_catalog(), workflow)).rstrip()}\n```\n",
            table(("state", "meaning", "by", "at most"), states),
            *briefs,
        ]
    )


def _state(state: State) -> tuple[str, str, str, str]:
    kinds = [word for word, is_so in (("router", state.router), ("end", state.terminal)) if is_so]
    about = " ".join(part for part in (f"({', '.join(kinds)})" if kinds else "", state.about) if part)
    cap = f"{state.attempts} times" if state.attempts else ""
    return f"`{state.name}`", about, state.brief.agent if state.brief else "", cap


def _brief(name: str, brief: Brief) -> str:
    contract = brief.contract
    asked = [f"an artifact of type `{kind}`" for kind in contract.artifacts]
    asked += [f"a confidence of {contract.min_confidence} or more"] if contract.min_confidence else []
    asked += ["no blockers"] if contract.no_blockers else []
    required = (contract.schema or {}).get("required")
    asked += [f"`{field}`" for field in required] if isinstance(required, list) else []
    lists = {
        "Is given": brief.inputs,
        "May": brief.allowed_actions,
        "Must not": brief.forbidden_actions,
        "Is done when": brief.done_when,
        "Brings back": asked,
    }
    lines = (f"- {head}: {'; '.join(items)}." for head, items in lists.items() if items)
    return "\n".join([f"\n### `{name}`\n", f"```text\n{brief.task.rstrip()}\n```\n", *lines])
