"""The tree of the source as data: modules, folders, imports and names, read from the files."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_INDENTED_IMPORT: Final = re.compile(r"^[ \t]+(import|from)\b", re.MULTILINE)
SOURCE: Final = Path(__file__).resolve().parents[2] / "src" / "handrail"


def list_modules() -> list[Path]:
    """Every Python file of the source."""
    return sorted(SOURCE.rglob("*.py"))


def get_module_name(path: Path) -> str:
    """The dotted name of a module, without that of the program."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def group_by_folder() -> dict[str, list[str]]:
    """The modules of each folder."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in list_modules():
        found[path.parent.relative_to(SOURCE).as_posix()].append(path.stem)
    return found


def find_repeated_names(least: int) -> dict[str, int]:
    """The file names that occur in that many folders; each package has an `__init__`."""
    found: dict[str, int] = defaultdict(int)
    for path in list_modules():
        if path.stem != "__init__":
            found[path.stem] += 1
    return {name: times for name, times in found.items() if times >= least}


def find_inner_imports(source: str) -> Iterator[int]:
    """The lines of imports inside functions."""
    if not _INDENTED_IMPORT.search(source):
        return
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    yield node.lineno


def list_public_functions(source: str) -> Iterator[tuple[int, str]]:
    """The public functions of a module, each with its line."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node.lineno, node.name


def find_single_importers() -> dict[str, str]:
    """Modules that only one other module imports, which is in the same folder; each with that one."""
    known = {get_module_name(path) for path in list_modules()}
    importers: dict[str, set[str]] = defaultdict(set)
    for path in list_modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("handrail."):
                module = str(node.module).removeprefix("handrail.")
                for alias in node.names:
                    target = f"{module}.{alias.name}" if f"{module}.{alias.name}" in known else module
                    importers[target].add(get_module_name(path))
    return {
        name: importer
        for name, (importer, *others) in ((name, sorted(found)) for name, found in importers.items())
        if not others and name.rpartition(".")[0] == importer.rpartition(".")[0]
    }
