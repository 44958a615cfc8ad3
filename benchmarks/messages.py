"""Texts to read: messages in the shapes that commits have, and plan documents of several sizes."""

from typing import Final

_BODY: Final = (
    "The listener was added on every render and never taken away, so that a page that\n"
    "stayed open for a day held thousands of them. It is added once now, and removed\n"
    "when the view is destroyed.\n"
)
_BULLETS: Final = "".join(
    f"- part {number} of the change, which is told in a line of its own\n" for number in range(6)
)

_HEADERS: Final = (
    "fix(core): remove the listener when a view is destroyed (#52249)",
    "feat(router)!: resolve redirects before guards are asked",
    "docs: fix a number of typos in the guide to forms (#61915)",
    "refactor: take the cache out of the compiler",
    "build(deps): update dependency esbuild to v0.25.4",
    "cli: print the name of the branch when it is created",
    "Merge pull request #1024 from somebody/some-branch",
    "Update README.md",
)
_BODIES: Final = (
    "",
    "",
    "\n",
    "\n" + _BODY,
    "\n" + _BODY + "\nFixes #4321\n",
    "\n" + _BODY + "\n" + _BODY + "\nPR Close #52249\n",
    "\n" + _BODY + "\n" + _BULLETS,
    "\nWhat changed:\n\n" + _BULLETS + "\nBREAKING CHANGE: redirects are resolved first.\n",
    "\n"
    + _BODY
    + "\nReviewed-by: A. Person <person@example.org>\nCo-authored-by: B. Person <b@example.org>\n",
)

MESSAGES: Final = tuple(f"{header}\n{body}" for header in _HEADERS for body in _BODIES)


def plan(tasks: int) -> str:
    """A plan document with so many tasks, on three levels."""
    rows = (
        f"{'  ' * (number % 3)}- [{'x' if number % 2 else ' '}]: Take care of part {number} of the change"
        for number in range(tasks)
    )
    limits = "- Do not: change what users have saved\n- Never: block the loop for longer than a frame\n"
    return (
        f"feat(core): keep the size of the window\n\n{_BODY}\n{limits}\n"
        + "\n".join(rows)
        + "\n\nGo on with it\n"
    )


PLANS: Final = tuple(plan(tasks) for tasks in (3, 10, 30, 100))
