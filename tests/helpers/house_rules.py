"""The rules of the house as functions over source text: each returns what it finds, in clean text nothing."""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import yaml

IMPURE: Final = frozenset(
    [
        "os",
        "pathlib",
        "io",
        "time",
        "random",
        "uuid",
        "secrets",
        "sqlite3",
        "subprocess",
        "asyncio",
        "logging",
        "socket",
    ]
)
IMPURE_BUILTINS: Final = frozenset({"open", "print", "input", "exec", "eval", "__import__"})
CLOCKS: Final = frozenset({"now", "utcnow", "today"})


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A broken rule and the line it is broken on."""

    line: int
    what: str


Check: TypeAlias = Callable[[str], list[Finding]]
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def _found(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(set(findings))


# --- purity -------------------------------------------------------------------------------------------------


def find_impurities(source: str) -> list[Finding]:
    """Imports, builtins and clocks through which a pure package would touch the world."""
    nodes = list(ast.walk(ast.parse(source)))
    return _found([*_impure_imports(nodes), *_impure_names(nodes), *_clocks(nodes)])


def _impure_imports(nodes: Iterable[ast.AST]) -> Iterator[Finding]:
    for node in nodes:
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        for module in modules:
            if module.split(".")[0] in IMPURE:
                yield Finding(_line(node), f"imports {module}")


def _impure_names(nodes: Iterable[ast.AST]) -> Iterator[Finding]:
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in IMPURE_BUILTINS:
            yield Finding(node.lineno, f"uses {node.id}")


def _clocks(nodes: Iterable[ast.AST]) -> Iterator[Finding]:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS:
            yield Finding(node.lineno, f"asks a clock: {ast.unparse(node.func)}()")
        if (
            isinstance(node, ast.Attribute)
            and node.attr in CLOCKS
            and _last_name(node.value) in {"date", "datetime"}
        ):
            yield Finding(node.lineno, f"asks a clock: {ast.unparse(node)}()")


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rsplit(".", 1)[-1]


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 1))


# --- shapes -------------------------------------------------------------------------------------------------


def find_exports(source: str) -> list[Finding]:
    """What an `__init__.py` holds besides a docstring and `__version__`."""
    body = ast.parse(source).body
    if body and _is_docstring(body[0]):
        body = body[1:]
    return [Finding(node.lineno, f"holds {ast.unparse(node)}") for node in body if not _is_version(node)]


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_version(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign)
        and [ast.unparse(target) for target in node.targets] == ["__version__"]
        and isinstance(node.value, ast.Constant)
    )


_PARTICIPLE = re.compile(
    r"[a-z]+(?:ed|ing)|told|shown|kept|made|seen|held|said|found|known|written|given|taken|begun"
)
_NO_PARTICIPLE = frozenset({"seed", "feed", "embed"})


def find_bare_participles(source: str) -> list[Finding]:
    """Public functions whose whole name is a participle: a function is a verb with its object."""
    return [
        Finding(node.lineno, f"{node.name} is a bare participle")
        for node in ast.parse(source).body
        if isinstance(node, Function) and _PARTICIPLE.fullmatch(node.name) and node.name not in _NO_PARTICIPLE
    ]


# --- names of workflows in Python ---------------------------------------------------------------------------


def find_workflow_names(source: str, names: frozenset[str]) -> list[Finding]:
    """Strings and identifiers that name a state, a skill or a spell.

    A whole string, or a whole piece of an f-string, is one of the names; a name made of several words is
    found inside a longer string and as an identifier too. Docstrings may speak of anything.
    """
    nodes = list(ast.walk(ast.parse(source)))
    compound = frozenset(name for name in names if re.search(r"[_-]", name))
    # Every string that is a statement: of modules, classes and functions, and below an attribute.
    documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    found = []
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            found += [Finding(node.lineno, f"names {name}") for name in _named(node.value, names, compound)]
        elif (identifier := _identifier(node)) in compound:
            found.append(Finding(_line(node), f"names {identifier}"))
    return _found(found)


def _named(text: str, names: frozenset[str], compound: frozenset[str]) -> set[str]:
    whole = {text.strip("/:.")} & names
    return whole | (set(re.findall(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+", text)) & compound)


def _identifier(node: ast.AST) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.arg():
            return node.arg
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name
        case _:
            return ""


def list_names_in_workflow(text: str) -> set[str]:
    """The names of the states and steps that a workflow file declares."""
    document = yaml.BaseLoader(text).get_single_data()
    if not isinstance(document, Mapping):
        return set()
    states, steps = document.get("states") or {}, document.get("steps") or []
    named = (step for step in steps if isinstance(step, Mapping) and "name" in step)
    return {str(name) for name in states} | {str(step["name"]) for step in named}


# --- words and comments -------------------------------------------------------------------------------------

_UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X])\b")
_REGISTRY = re.compile(r"\b(pypi|pythonhosted|npmjs|debian)[.](org|com)\b", re.IGNORECASE)
_OUTSIDE = re.compile(r"[.]{2}/shared\b")
_SILENCES = re.compile(r"\b(noqa|type:\s*ignore|pragma:\s*no cover)\b", re.IGNORECASE)
_SAYS_WHY = re.compile(
    r"#\s*(noqa:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*|type:\s*ignore\[[a-z, -]+\]|pragma:\s*no cover)[\s#:-]+\w{2,}"
)


def find_unfinished_work(source: str) -> list[Finding]:
    """Marks of work put off."""
    return _matches(_UNFINISHED, source, "work put off")


def find_registry_hosts(source: str) -> list[Finding]:
    """Host names of package registries: where packages come from is the machine's business."""
    return _matches(_REGISTRY, source, "names a registry")


def find_outside_paths(source: str) -> list[Finding]:
    """Paths that lead out of the project to what a clone does not have."""
    return _matches(_OUTSIDE, source, "leads out of the project")


def _matches(pattern: re.Pattern[str], source: str, what: str) -> list[Finding]:
    return [
        Finding(number, f"{what}: {found.group()}")
        for number, line in enumerate(source.splitlines(), start=1)
        for found in pattern.finditer(line)
    ]


def find_unexplained_silences(source: str) -> list[Finding]:
    """Comments that silence a tool and do not say why, or do not say which rule."""
    found: list[Finding] = []
    if not _SILENCES.search(source):
        return found
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = token.string
        if token.type == tokenize.COMMENT and _SILENCES.search(text) and not _SAYS_WHY.search(text):
            found.append(Finding(token.start[0], f"silences a tool without a rule and a reason: {text}"))
    return found


def find_sleeps(source: str) -> list[Finding]:
    """Calls of a `sleep`, whatever module it is from."""
    if "sleep" not in source:
        return []
    return _found(
        Finding(node.lineno, f"sleeps: {ast.unparse(node.func)}")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and _last_name(node.func) == "sleep"
    )


# --- the project's own files --------------------------------------------------------------------------------


def find_dead_links(markdown: str, exists: Callable[[str], bool]) -> list[Finding]:
    """Links of a page to files that do not exist; other sites are let be."""
    return [
        Finding(number, f"links to {target}, which does not exist")
        for number, line in enumerate(markdown.splitlines(), start=1)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line)
        if "://" not in target and not exists(target)
    ]


def find_loose_pins(constraints: str) -> list[Finding]:
    """Lines of a constraints file that are not exactly `name==version`."""
    return [
        Finding(number, f"is no name==version: {line}")
        for number, line in enumerate(constraints.splitlines(), start=1)
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][A-Za-z0-9.]*", line)
    ]


def find_unpinned_packages(requirements: Iterable[str], constraints: str) -> list[str]:
    """The packages that a project asks for and its constraints do not pin."""
    pinned = {_package(line) for line in constraints.splitlines()}
    return sorted({_package(requirement) for requirement in requirements} - pinned)


def _package(requirement: str) -> str:
    name = re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0]
    return re.sub(r"[._-]+", "-", name).lower()


def check_budget(minutes: Mapping[str, float], limit: float) -> list[str]:
    """What is wrong with a budget: a part without time, or a sum that reaches the limit."""
    found = [f"{part} has no time" for part, given in minutes.items() if given <= 0]
    if sum(minutes.values()) >= limit:
        found.append(f"{sum(minutes.values()):g} minutes in all; the limit is {limit:g}")
    return found
