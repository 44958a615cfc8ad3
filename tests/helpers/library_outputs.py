"""What an honest agent hands in at each step of the built-in workflows, and what a dishonest one would."""

from typing import Final

from handrail.engine.facts import Value

Handed = dict[str, Value]
COMMAND: Final = "run-tests greeting"
COMMIT: Final = "4f1d2c9e"

GIVEN: Final[dict[str, Handed]] = {
    "bug-fix": {"report": "The second save is lost."},
    "code-review": {"change": "the branch greeting"},
    "docs": {"topic": "Restoring a backup"},
    "feature": {"request": "Guests want to be greeted by name."},
    "refactor": {"target": "The greeter; every new language touches nine files."},
    "release": {"version": "2.1.0"},
}
"""The one input that each workflow needs."""

HONEST: Final[dict[str, dict[str, tuple[str, Handed]]]] = {
    "bug-fix": {
        "reproduce": ("reproduction", {"command": COMMAND, "exit_code": 1}),
        "diagnose": ("diagnosis", {"reproducible": True, "location": "save:41"}),
        "mend": (
            "patch",
            {
                "files": ["save"],
                "exit_code": 0,
                "suite": "run-tests",
                "failing_before": 3,
                "failing_after": 2,
            },
        ),
        "prove": (
            "review",
            {
                "verdict": "good",
                "checked_by": "other_agent",
                "command": COMMAND,
                "exit_before": 1,
                "exit_after": 0,
            },
        ),
    },
    "code-review": {
        "understand": ("change-map", {"base": "a1", "head": "b2", "files": ["greet"], "unread": []}),
        "fit": (
            "fit",
            {"promises": [], "breaking": False, "tried": "a call of version 1: answered as before"},
        ),
        "challenge": ("evidence", {"commands": [COMMAND], "tried": 4, "confirmed": 0, "open": []}),
        "judge": ("review", {"verdict": "approve", "must_fix": 0, "should_fix": 2}),
    },
    "docs": {
        "aim": ("outline", {"reader_can": "restore a backup alone", "page": "restore.md", "overlaps": []}),
        "gather": ("facts", {"commands": ["restore --help"], "needed": [], "unanswered": 0}),
        "compose": ("page", {"files": ["restore.md"], "linked_from": ["index.md"], "untested": 0}),
        "follow": (
            "walk-through",
            {"verdict": "works", "followed_by": "person", "commands_run": 4, "reached": True, "guesses": 0},
        ),
    },
    "feature": {
        "frame": (
            "brief",
            {"acceptance": ["A guest who signs in sees their name."], "left_out": ["A greeting by voice."]},
        ),
        "design": (
            "design",
            {
                "touches": ["greet"],
                "rejected": ["A table of names: it would be stored twice."],
                "assumption": "Every guest has exactly one name.",
            },
        ),
        "expect": ("checks", {"command": COMMAND, "exit_code": 1, "failing": 1}),
        "implement": (
            "patch",
            {"files": ["greet"], "exit_code": 0, "failing_without": 2, "failing_with": 2},
        ),
        "review": (
            "review",
            {
                "verdict": "good",
                "must_fix": 0,
                "reviewed_by": "person",
                "command": COMMAND,
                "exit_code": 0,
            },
        ),
        "deliver": ("hand-over", {"recorded_as": COMMIT, "unrecorded": 0, "unmet": []}),
    },
    "refactor": {
        "survey": (
            "survey",
            {"figure": "files to edit: 9", "observable": ["the greeting"], "pieces": ["one table"]},
        ),
        "pin-down": ("pins", {"command": COMMAND, "exit_code": 0, "planted": 3, "caught": 3}),
        "reshape": ("patch", {"changes": [COMMIT], "exit_code": 0, "checks_edited": 0}),
        "compare": (
            "comparison",
            {
                "verdict": "good",
                "compared_by": "other_agent",
                "command": COMMAND,
                "exit_code": 0,
                "differences": 0,
                "figure_better": True,
            },
        ),
    },
    "release": {
        "inventory": (
            "inventory",
            {
                "from_commit": "0a0a",
                "to_commit": "1b1b",
                "breaking": [],
                "number_fits": True,
                "unrecorded": 0,
            },
        ),
        "prepare": ("notes", {"commit": COMMIT, "carriers": ["VERSION"], "unrecorded": 0}),
        "rehearse": (
            "rehearsal",
            {
                "verdict": "ready",
                "commit": COMMIT,
                "command": COMMAND,
                "exit_code": 0,
                "reported": "2.1.0",
            },
        ),
        "publish": (
            "publication",
            {"commit": COMMIT, "approved_by": 'Ada: "yes, 2.1.0"', "published_to": ["the index"]},
        ),
        "confirm": ("confirmation", {"reported": "2.1.0", "fetched_from": ["the index"], "same": True}),
    },
}
"""By workflow and step, in the order in which the steps come: the type of the artifact, and the fields."""

LIES: Final[tuple[tuple[str, str, Handed, str], ...]] = (
    ("bug-fix", "reproduce", {"exit_code": 0}, "output.exit_code != 0"),
    ("bug-fix", "reproduce", {"command": "first\nsecond"}, "command"),
    ("bug-fix", "diagnose", {"confidence": 0.6}, "confidence must be at least 0.7; it is 0.6"),
    ("bug-fix", "mend", {"exit_code": 1}, "exit_code"),
    ("bug-fix", "mend", {"files": []}, "files"),
    ("bug-fix", "mend", {"failing_after": 4}, "output.failing_after <= output.failing_before"),
    ("bug-fix", "mend", {"blockers": ["the design is wrong"]}, "blockers"),
    ("bug-fix", "prove", {"checked_by": "author"}, 'checked_by is not one of "person" or "other_agent"'),
    ("bug-fix", "prove", {"command": "run-tests other"}, "output.command == run.vars.command"),
    ("bug-fix", "prove", {"exit_before": 0}, "output.exit_before != 0"),
    ("bug-fix", "prove", {"exit_after": 1}, "output.exit_after == 0"),
    ("code-review", "understand", {"files": []}, "files"),
    ("code-review", "fit", {"tried": ""}, "tried"),
    ("code-review", "challenge", {"tried": 2}, "tried"),
    ("code-review", "challenge", {"confirmed": 5}, "output.confirmed <= output.tried"),
    ("code-review", "judge", {"must_fix": 1}, "output.must_fix == 0"),
    ("code-review", "judge", {"verdict": "request_changes"}, "output.must_fix > 0"),
    ("docs", "aim", {"reader_can": "read it"}, "reader_can"),
    ("docs", "gather", {"unanswered": 1}, "unanswered"),
    ("docs", "compose", {"untested": 2}, "untested"),
    ("docs", "compose", {"linked_from": []}, "linked_from"),
    ("docs", "follow", {"guesses": 1}, "output.guesses == 0"),
    ("docs", "follow", {"reached": False}, "output.reached"),
    ("docs", "follow", {"followed_by": "author"}, "followed_by"),
    ("feature", "frame", {"acceptance": []}, "acceptance"),
    ("feature", "frame", {"blockers": ["which guests?"]}, "blockers"),
    ("feature", "design", {"rejected": []}, "rejected"),
    ("feature", "expect", {"exit_code": 0}, "output.exit_code != 0"),
    ("feature", "implement", {"exit_code": 2}, "exit_code"),
    ("feature", "implement", {"failing_with": 3}, "output.failing_with <= output.failing_without"),
    ("feature", "review", {"must_fix": 1}, "output.must_fix == 0"),
    ("feature", "review", {"verdict": "again"}, "output.must_fix > 0"),
    ("feature", "review", {"command": "run-tests other"}, "output.command == run.vars.checks"),
    ("feature", "review", {"exit_code": 1}, "output.exit_code == 0"),
    ("feature", "review", {"reviewed_by": "author"}, "reviewed_by"),
    ("feature", "deliver", {"unrecorded": 1}, "unrecorded"),
    ("refactor", "survey", {"observable": []}, "observable"),
    ("refactor", "pin-down", {"planted": 2, "caught": 2}, "planted"),
    ("refactor", "pin-down", {"caught": 2}, "output.caught == output.planted"),
    ("refactor", "reshape", {"checks_edited": 1}, "checks_edited"),
    ("refactor", "compare", {"differences": 1}, "output.differences == 0"),
    ("refactor", "compare", {"figure_better": False}, "output.figure_better"),
    ("refactor", "compare", {"command": "run-tests other"}, "output.command == run.vars.pins"),
    ("refactor", "compare", {"compared_by": "author"}, "compared_by"),
    ("release", "inventory", {"unrecorded": 3}, "unrecorded"),
    ("release", "inventory", {"number_fits": False}, "number_fits"),
    ("release", "prepare", {"unrecorded": 1}, "unrecorded"),
    ("release", "rehearse", {"exit_code": 1}, "output.exit_code == 0"),
    ("release", "rehearse", {"commit": "another"}, "output.commit == run.vars.commit"),
    ("release", "rehearse", {"reported": "2.0.9"}, "output.reported == run.inputs.version"),
    ("release", "publish", {"commit": "another"}, "output.commit == run.vars.commit"),
    ("release", "publish", {"approved_by": ""}, "approved_by"),
    ("release", "confirm", {"reported": "2.0.9"}, "output.reported == run.inputs.version"),
    ("release", "confirm", {"same": False}, "same"),
)
"""A workflow, one of its steps, what is handed in there instead, and how the answer names it."""
