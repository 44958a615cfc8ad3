"""Loading and checking a workflow of 300 states and 1,000 rows, against PyYAML reading the same text."""

import yaml

from handrail.engine.soundness import check_soundness
from handrail.workflows.load import WorkflowSource, load_workflow
from rounds import ratio, report

STATES = 300
LINES = ("task.exists", "results.exists", "items.remaining", "criteria.unchecked > 0", 'item.type == "code"')


def text() -> str:
    """A sound workflow of that size, the same every time."""
    tools = ", ".join(f"{name}: {{who: person}}" for name in ("go", "back", "up"))
    lines = ["workflow: big", "version: 1", "authority: files", f"tools: {{{tools}}}", "states:"]
    lines += [f"  S{n}: {{phase: one, about: State number {n}}}" for n in range(STATES - 1)]
    lines += [f"  S{STATES - 1}: {{terminal: true}}", "transitions:"]
    for n in range(STATES - 1):
        guard, other, far = LINES[n % 5], LINES[n % 7 % 5], n * 37 % STATES
        lines += [
            f"  - {{id: A{n}, from: S{n}, trigger: go, when: [plan.exists, '{guard}'], to: S{n + 1}}}",
            f"  - {{id: B{n}, from: S{n}, trigger: go, when: ['!plan.exists'], to: S{n + 1}}}",
            f"  - {{id: C{n}, from: S{n}, trigger: up, when: ['{other}'], to: S{far}}}",
        ]
        if n % 3 == 0:
            lines.append(f"  - {{id: D{n}, from: S{n}, trigger: back, to: S{max(0, n - 1)}}}")
    return "\n".join(lines)


def main() -> None:
    """Print the figure."""
    source = WorkflowSource("big.yaml", text())

    def ours() -> None:
        loaded = load_workflow(source)
        if loaded.workflow is None or check_soundness(loaded.workflow):
            raise SystemExit("the workflow of this benchmark must be sound")

    def floor() -> None:
        yaml.load(source.text, Loader=yaml.CSafeLoader)

    report("load_and_check_1000_rows_x_yaml", ratio(ours, floor), 8)


if __name__ == "__main__":
    main()
