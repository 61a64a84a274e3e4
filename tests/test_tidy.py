"""The house rules that no other tool checks: sizes, leftovers, twins, files that nobody uses.

Rules: a function has at most 70 lines, a module at most 500 (aim: 300), a test file at most 600; every engine module has a test
twin; every template is named by a view, a template or a test; nothing is left over; nothing names a machine or a registry.
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FUNCTION_LINES, MODULE_LINES, TEST_LINES = 70, 500, 600
LEFTOVERS = re.compile(
    r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b|NotImplemented" + r"Error|breakpoint\(\)|pdb\.set_trace"
)
MACHINE_PATHS = re.compile(r"(?<![A-Za-z0-9_.])/(?:wo" + r"rk|fa" + r"rm|ro" + r"ot|ho" + r"me)/")
LARGEST_BYTES = 200 * 1024
SCREENSHOTS = "docs/screenshots/"


def tracked(*patterns: str) -> list[Path]:
    """Files of the project: what git knows and what it would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    return sorted(ROOT / name for name in names if name and (ROOT / name).is_file())


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_test(path: Path) -> bool:
    return "tests" in path.relative_to(ROOT).parts


def is_migration(path: Path) -> bool:
    return path.parent.name == "migrations"


PYTHON = [path for path in tracked("*.py") if not is_migration(path)]


@pytest.mark.parametrize("path", PYTHON, ids=relative)
def test_a_module_is_short_and_says_its_job(path: Path) -> None:
    text = path.read_text()
    lines = text.count("\n")
    assert lines <= (TEST_LINES if is_test(path) else MODULE_LINES), f"{lines} lines: two jobs live here"
    if text.strip() and not is_test(path):
        assert ast.get_docstring(ast.parse(text)), "a module begins with what it is for"


@pytest.mark.parametrize("path", PYTHON, ids=relative)
def test_a_function_fits_on_a_screen(path: Path) -> None:
    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    }
    assert not {name: n for name, n in long.items() if n > FUNCTION_LINES}


def twin_of(path: Path) -> Path:
    """tests/x/test_y.py for kaas/x/y.py; a package's own module may be tested by the package's name."""
    inside = path.relative_to(ROOT / "kaas")
    name = inside.stem.strip("_")
    return ROOT / "tests" / inside.parent / f"test_{name}.py"


ENGINE = [p for p in tracked("kaas/*.py", "kaas/**/*.py") if p.name != "__init__.py"]


@pytest.mark.parametrize("path", ENGINE, ids=relative)
def test_an_engine_module_has_a_twin(path: Path) -> None:
    assert twin_of(path).exists(), f"{relative(twin_of(path))} is missing"


def test_nothing_is_left_over() -> None:
    found = [
        f"{relative(path)}:{number}"
        for path in tracked("*.py", "*.js", "*.css", "*.html", "Makefile")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if LEFTOVERS.search(line)
    ]
    assert not found


def test_nothing_names_a_machine() -> None:
    found = []
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{relative(path)}:{n}" for n, line in enumerate(text.splitlines(), 1) if MACHINE_PATHS.search(line)]
    assert not found


def test_no_file_is_large() -> None:
    large = {relative(p): p.stat().st_size for p in tracked() if p.stat().st_size > LARGEST_BYTES}
    assert not {name: size for name, size in large.items() if not name.startswith(SCREENSHOTS)}


def test_no_library_of_others_is_committed() -> None:
    assert not [relative(p) for p in tracked("*.min.js", "*.min.css", "**/node_modules/**", "**/vendor/**")]


def test_every_template_is_used() -> None:
    templates = tracked("templates/**", "*/templates/**")
    sources = "\n".join(p.read_text() for p in [*PYTHON, *templates])
    unused = []
    for path in templates:
        inside = relative(path).split("templates/", 1)[1]
        if inside not in sources and path.name not in ("400.html", "403.html", "403_csrf.html", "404.html", "500.html"):
            unused.append(inside)
    assert not unused


def test_every_script_and_style_is_used() -> None:
    assets = [p for p in tracked("static/**") if p.suffix in (".js", ".css")]
    sources = "\n".join(p.read_text() for p in [*tracked("templates/**"), *assets, *PYTHON])
    assert not [relative(p) for p in assets if p.name not in sources]


def test_the_layout_is_the_one_that_is_documented() -> None:
    top = {relative(p).split("/")[0] for p in tracked()}
    known = {
        *(".ci", ".dockerignore", ".gitignore", ".github", "Dockerfile", "LICENSE", "Makefile", "README.md"),
        *("benchmarks", "docker-compose.yml", "docs", "groups", "kaas", "kaasadmin", "manage.py", "offsets"),
        *("package.json", "package-lock.json", "pyproject.toml", "requirements-dev.txt", "requirements.txt"),
        *("static", "templates", "tests"),
    }
    assert top <= known, f"{sorted(top - known)} has no place in docs/ARCHITECTURE.md"
