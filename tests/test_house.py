"""The house rules, read off the source: which room may know which, and how large and how dark one may get.

Every rule is a function from a house (modules by name, parsed) to complaints that say what to do. Each
runs twice: on sidestream as it is imported here, where it must find nothing, and on a few lines that break it.
"""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import pytest

import sidestream

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGE = Path(sidestream.__file__).resolve().parent

# ---- what may be, as tables ------------------------------------------------------

FLOORS: dict[str, float] = {
    "_version": 0, "errors": 0, "messages": 0, "events": 0, "codec": 0, "fold": 0,
    "dialects": 1, "timeline": 1,
    "tools": 2, "gate": 2, "crew": 2,
    "providers": 3, "knowledge": 3, "sandbox": 3,
    "engine": 4, "plan": 4, "rounds": 4, "compose": 4, "output": 4, "run": 4, "session": 4, "throttle": 4, "builtin": 4,
    "": 4.5,  # sidestream/__init__.py shows floors 0-4 to the world
    "journal": 5, "mesh": 5, "telemetry": 5, "testing": 5,
    "cli": 6, "serve": 6, "page": 6, "__main__": 7,
}  # fmt: skip

# Code from other projects: the modules (and all below them) that may import it.
THIRD_PARTY = {
    "msgspec": ("",),
    "aiohttp": ("providers", "builtin"),
    "xllamacpp": ("providers.local",),
    "onnxruntime": ("providers.local",),
    "numpy": ("providers.local",),
    "uvloop": ("cli",),
    "hypothesis": ("testing",),
    "pytest": ("testing",),
}
HEAVY = {"aiohttp", "pydantic", "onnxruntime", "numpy", "xllamacpp", "uvloop"}
WORLDLY = {"asyncio", "time", "os", "socket", "threading", "subprocess", "random", "datetime", "pathlib"}

MAY_IMPORT_LATE = ("providers.choose", "cli", "serve")
MAY_CATCH_ALL = ("crew", "tools.shelf", "tools.threads", "serve")
BAD_ENDINGS = re.compile(r"(Manager|Helper|Service|Base|Util)s?$|(^|_)(manager|helper|service|base|util)s?$")
CODE_LINES, FUNCTION_LINES, PUBLIC_NAMES = 300, 40, 60

# ---- reading ---------------------------------------------------------------------


class Arrow(NamedTuple):
    line: int
    target: str  # a module of ours ("dialects.scan", "" is the package itself), or a foreign top-level name
    ours: bool
    late: bool  # inside a function, or by importlib
    typing_only: bool


class Module:
    def __init__(self, name: str, source: str, *, package: bool = False) -> None:
        self.name, self.source, self.package = name, source, package
        self.tree = ast.parse(source)
        self.path = "src/sidestream/" + name.replace(".", "/") + ("/__init__" if package else "") + ".py"
        self.path = self.path.replace("//", "/")

    @property
    def room(self) -> str:
        return self.name.split(".")[0]

    def inside(self, prefixes: tuple[str, ...]) -> bool:
        return any(not p or self.name == p or self.name.startswith(p + ".") for p in prefixes)

    @cached_property
    def within(self) -> dict[ast.AST, tuple[ast.AST, ...]]:
        """Each node → its ancestors, outermost first."""
        found: dict[ast.AST, tuple[ast.AST, ...]] = {self.tree: ()}
        todo: list[ast.AST] = [self.tree]
        for node in todo:
            for child in ast.iter_child_nodes(node):
                found[child] = (*found[node], node)
                todo.append(child)
        return found


House = dict[str, Module]


def build(files: dict[str, str]) -> House:
    """A house from paths below `src/sidestream` and their text."""
    house = {}
    for path, source in files.items():
        parts = list(Path(path).with_suffix("").parts)
        package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if package else parts)
        house[name] = Module(name, source, package=package)
    return house


@cache
def real_house() -> House:
    return build({str(p.relative_to(PACKAGE)): p.read_text(encoding="utf-8") for p in sorted(PACKAGE.rglob("*.py"))})


def targets(module: Module, node: ast.AST, house: House) -> Iterator[tuple[str, bool]]:
    """What an import statement points at: the submodule where the name is one, else the module."""
    match node:
        case ast.Import(names=names):
            dotted = [alias.name for alias in names]
        case ast.ImportFrom(module=base, names=names, level=0):
            dotted = [f"{base}.{alias.name}" for alias in names]
        case ast.ImportFrom(module=base, names=names, level=level):
            here = ["sidestream", *module.name.split(".")] if module.name else ["sidestream"]
            here = here[: len(here) - level + module.package]
            dotted = [".".join([*here, *([base] if base else []), alias.name]) for alias in names]
        case ast.Call(args=[ast.Constant(value=str(name)), *_]):
            dotted = [name]
        case _:
            dotted = []
    for name in dotted:
        top, _, rest = name.partition(".")
        if top != "sidestream":
            yield top, False
        elif rest in house:
            yield rest, True
        else:
            yield rest.rpartition(".")[0], True


def arrows(module: Module, house: House) -> Iterator[Arrow]:
    for node, ancestors in module.within.items():
        called = isinstance(node, ast.Call) and ast.unparse(node.func) in {
            "importlib.import_module", "import_module", "__import__",
        }  # fmt: skip
        if not called and not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        in_function = any(isinstance(a, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) for a in ancestors)
        typing_only = any(isinstance(a, ast.If) and "TYPE_CHECKING" in ast.unparse(a.test) for a in ancestors)
        found = list(targets(module, node, house)) or [("?", False)]
        for target, ours in dict.fromkeys(found):
            yield Arrow(node.lineno, target, ours, in_function or called, typing_only)


# ---- the rules -------------------------------------------------------------------

Rule = Callable[[House], Iterator[str]]


def down_the_stairs_only(house: House) -> Iterator[str]:
    for module in house.values():
        if module.room not in FLOORS:
            yield f"{module.path}: no floor for {module.room!r}: give it one in FLOORS here and in docs/explanation/design.md"
            continue
        for arrow in arrows(module, house):
            room = arrow.target.split(".")[0]
            if not arrow.ours or room == module.room or room not in FLOORS:
                continue
            mine, theirs = FLOORS[module.room], FLOORS[room]
            loose = module.name == module.room and not module.package
            if theirs > mine:
                yield (
                    f"{module.path}:{arrow.line}: floor {mine:g} imports sidestream.{arrow.target} on floor {theirs:g}, upwards. "
                    "Move what both need down, or take it as an argument (a protocol beside its lowest user)"
                )
            elif theirs == mine and not loose:
                yield (
                    f"{module.path}:{arrow.line}: imports sidestream.{arrow.target}, another room of its own floor. "
                    "Move what both need one floor down"
                )


def no_circles(house: House) -> Iterator[str]:
    edges = {m.name: {a.target: a.line for a in arrows(m, house) if a.ours} for m in house.values()}
    done: set[str] = set()

    def walk(name: str, trail: tuple[str, ...]) -> Iterator[str]:
        if name in trail:
            circle = " → ".join((*trail[trail.index(name) :], name))
            yield f"{house[trail[-1]].path}:{edges[trail[-1]][name]}: a circle: {circle}. Move what both need into a third module"
            return
        if name in done or name not in house:
            return
        for target in edges[name]:
            yield from walk(target, (*trail, name))
        done.add(name)

    for name in house:
        yield from walk(name, ())


def no_late_imports(house: House) -> Iterator[str]:
    for module in house.values():
        for arrow in arrows(module, house):
            if arrow.late and not module.inside(MAY_IMPORT_LATE):
                yield (
                    f"{module.path}:{arrow.line}: imports {arrow.target} inside a function. Import it on top; "
                    "where it is heavy or optional, give it a module of its own and a row in providers/choose.py"
                )


def strangers_stay_in_their_rooms(house: House) -> Iterator[str]:
    for module in house.values():
        for arrow in arrows(module, house):
            name = arrow.target
            if arrow.ours or name == "?" or name in sys.stdlib_module_names:
                continue
            if name not in THIRD_PARTY:
                yield (
                    f"{module.path}:{arrow.line}: imports {name}, which is no dependency of ours. If it is to be one: "
                    "pyproject.toml, scripts/lock, docs/dependencies.md, and a row in THIRD_PARTY here"
                )
            elif not module.inside(THIRD_PARTY[name]):
                yield (
                    f"{module.path}:{arrow.line}: imports {name}, which only {' and '.join(THIRD_PARTY[name])} may. "
                    "Go through those, or widen the row in THIRD_PARTY here and say why"
                )


def the_core_is_light(house: House) -> Iterator[str]:
    """What `import sidestream` reaches by imports on top of modules holds nothing heavy."""
    todo, seen = [("", "")], set()
    while todo:
        name, trail = todo.pop()
        if name in seen or name not in house:
            continue
        seen.add(name)
        parent, dot, _ = name.rpartition(".")
        if dot:
            todo.append((parent, trail))
        for arrow in arrows(house[name], house):
            if arrow.late or arrow.typing_only:
                continue
            if arrow.ours:
                todo.append((arrow.target, f"{trail} → {arrow.target}"))
            elif arrow.target in HEAVY:
                yield (
                    f"{house[name].path}:{arrow.line}: `import sidestream` would load {arrow.target} "
                    f"(sidestream{trail}). Reach that module through the table in providers/choose.py"
                )


def the_lower_floors_are_pure(house: House) -> Iterator[str]:
    """No I/O, no clock, no asyncio in the words, the readers and the gate."""
    for module in house.values():
        if FLOORS.get(module.room, 9) > 1 and module.name != "gate":
            continue
        for arrow in arrows(module, house):
            if not arrow.ours and arrow.target in WORLDLY:
                yield (
                    f"{module.path}:{arrow.line}: imports {arrow.target}: floors 0 and 1 and the gate are pure. "
                    "Take the value as an argument"
                )


def no_broad_excepts(house: House) -> Iterator[str]:
    broad = {"Exception", "BaseException", "builtins.Exception", "builtins.BaseException"}
    for module in house.values():
        if module.inside(MAY_CATCH_ALL):
            continue
        for node in module.within:
            match node:
                case ast.ExceptHandler(body=[*_, ast.Raise(exc=None)]):
                    continue  # cleans up and raises the same again
                case ast.ExceptHandler(type=None):
                    caught = {"Exception"}
                case ast.ExceptHandler(type=ast.Tuple(elts=types)):
                    caught = {ast.unparse(t) for t in types}
                case ast.ExceptHandler(type=ast.expr() as only):
                    caught = {ast.unparse(only)}
                case ast.Call(func=called, args=args) if ast.unparse(called).endswith("suppress"):
                    caught = {ast.unparse(a) for a in args}
                case _:
                    continue
            if caught & broad:
                yield (
                    f"{module.path}:{node.lineno}: catches everything. Name what can happen; only "
                    f"{', '.join(MAY_CATCH_ALL)} catch what strangers raise"
                )


def names_say_what_a_thing_is(house: House) -> Iterator[str]:
    for module in house.values():
        own = module.name.rpartition(".")[2]
        if BAD_ENDINGS.search(own) or own == "core":
            yield f"{module.path}: {own!r} names no thing. Say what is in the room"
        for node in module.within:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and BAD_ENDINGS.search(
                node.name
            ):
                yield f"{module.path}:{node.lineno}: {node.name!r} names no thing. Say what it is or does"


def exceptions_end_in_error(house: House) -> Iterator[str]:
    ours = {"Exception", "BaseException"}
    classes = [(m, n) for m in house.values() for n in m.within if isinstance(n, ast.ClassDef)]
    for _ in range(3):  # our tree is three deep at most
        for _, node in classes:
            if any(b in ours or b.endswith(("Error", "Exception")) for b in map(ast.unparse, node.bases)):
                ours.add(node.name)
    for module, node in classes:
        if node.name in ours and not node.name.endswith("Error") and node.name != "Retry":
            yield f"{module.path}:{node.lineno}: the exception {node.name} must end in Error"


def code_lines(source: str, skip: set[int]) -> set[int]:
    """The numbers of the lines that hold code: no blank line, no comment, and none of `skip`."""
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in empty and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - skip


def span(node: ast.stmt | ast.expr) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def docstrings(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            found |= span(node)
    return found


def is_data(node: ast.AST | None) -> bool:
    """A value written out: literals, names and calls of them; no operator, loop, condition or function."""
    match node:
        case ast.Constant() | ast.Name() | ast.Attribute():
            return True
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return all(map(is_data, items))
        case ast.Dict(keys=keys, values=values):
            return all(k is None or is_data(k) for k in keys) and all(map(is_data, values))
        case ast.Call(func=ast.Name() | ast.Attribute(), args=args, keywords=keywords):
            return all(map(is_data, args)) and all(is_data(k.value) for k in keywords)
        case ast.UnaryOp(operand=value) | ast.Starred(value=value) | ast.Subscript(value=value):
            return is_data(value)
        case _:
            return False


def data_rows(tree: ast.Module) -> set[int]:
    """Lines of tables at the top of a module or class."""
    found: set[int] = set()
    for holder in [tree, *[n for n in tree.body if isinstance(n, ast.ClassDef)]]:
        for node in holder.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and is_data(node.value):
                lines = span(node)
                if len(lines) > 1:
                    found |= lines
    return found


def rooms_are_small(house: House) -> Iterator[str]:
    for module in house.values():
        size = len(code_lines(module.source, docstrings(module.tree) | data_rows(module.tree)))
        if size > CODE_LINES:
            yield f"{module.path}: {size} lines of code, {CODE_LINES} is the measure. Find the second idea in it"


def functions_are_short(house: House) -> Iterator[str]:
    for module in house.values():
        lines = code_lines(module.source, docstrings(module.tree))
        for node in module.within:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = len(lines & span(node))
                if size > FUNCTION_LINES:
                    yield (
                        f"{module.path}:{node.lineno}: {node.name} has {size} lines of code, {FUNCTION_LINES} is the "
                        "measure. Name its steps"
                    )


def files_open_with_a_docstring(house: House) -> Iterator[str]:
    for module in house.values():
        if not ast.get_docstring(module.tree):
            yield f"{module.path}: no docstring. Say what it is, what it promises, and what it will not do"


def the_face_is_small(house: House) -> Iterator[str]:
    for node in house[""].tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            if len(names) > PUBLIC_NAMES:
                yield f"sidestream.__all__ has {len(names)} names, {PUBLIC_NAMES} is the measure. Show a module instead"
            if twice := {name for name in names if names.count(name) > 1}:
                yield f"sidestream.__all__ names twice: {', '.join(sorted(twice))}"
            return
    yield "sidestream/__init__.py has no __all__"


def body(lines: int) -> str:
    return "".join(f"    x{n} = {n} + 1\n" for n in range(lines))


# Each rule with houses that break it: {path: text}, and a word of the complaint.
BROKEN: list[tuple[Rule, dict[str, str], str]] = [
    (down_the_stairs_only, {"events.py": "import sidestream.engine", "engine.py": ""}, "upwards"),
    (down_the_stairs_only, {"gate.py": "from sidestream import engine", "engine.py": ""}, "upwards"),
    (down_the_stairs_only, {"tools/x.py": "from ..providers import sse", "providers/sse.py": ""}, "upwards"),
    (
        down_the_stairs_only,
        {"codec.py": "def f():\n    from sidestream.crew import Crew", "crew.py": ""},
        "upwards",
    ),
    (
        down_the_stairs_only,
        {"codec.py": "if TYPE_CHECKING:\n    from sidestream.crew import Crew", "crew.py": ""},
        "upwards",
    ),
    (down_the_stairs_only, {"engine.py": "import sidestream", "__init__.py": ""}, "upwards"),
    (
        down_the_stairs_only,
        {"providers/a.py": "import sidestream.sandbox.b", "sandbox/b.py": ""},
        "own floor",
    ),
    (
        down_the_stairs_only,
        {"errors.py": "import_module('sidestream.cli.main')", "cli/main.py": ""},
        "upwards",
    ),
    (down_the_stairs_only, {"cellar.py": ""}, "no floor"),
    (
        no_circles,
        {
            "tools/a.py": "from sidestream.tools import b",
            "tools/b.py": "def f():\n import sidestream.tools.a",
        },
        "circle",
    ),
    (no_circles, {"tools/__init__.py": "from .a import A", "tools/a.py": "from . import B"}, "circle"),
    (no_late_imports, {"engine.py": "def f():\n    import json"}, "inside a function"),
    (no_late_imports, {"engine.py": "import importlib\nm = importlib.import_module('json')"}, "inside"),
    (strangers_stay_in_their_rooms, {"engine.py": "import aiohttp"}, "only providers"),
    (strangers_stay_in_their_rooms, {"engine.py": "import requests"}, "no dependency"),
    (
        the_core_is_light,
        {"__init__.py": "from sidestream.engine import E", "engine.py": "import numpy"},
        "numpy",
    ),
    (
        the_core_is_light,
        {"__init__.py": "import sidestream.a.b", "a/__init__.py": "import aiohttp", "a/b.py": ""},
        "aiohttp",
    ),
    (the_lower_floors_are_pure, {"dialects/scan.py": "import time"}, "pure"),
    (the_lower_floors_are_pure, {"gate.py": "import asyncio"}, "pure"),
    (no_broad_excepts, {"engine.py": "try: f()\nexcept Exception: pass"}, "everything"),
    (no_broad_excepts, {"engine.py": "try: f()\nexcept: pass"}, "everything"),
    (no_broad_excepts, {"engine.py": "try: f()\nexcept (OSError, BaseException): pass"}, "everything"),
    (no_broad_excepts, {"engine.py": "with contextlib.suppress(Exception): f()"}, "everything"),
    (names_say_what_a_thing_is, {"engine.py": "class RunManager: pass"}, "RunManager"),
    (names_say_what_a_thing_is, {"engine.py": "def call_helper(): pass"}, "call_helper"),
    (names_say_what_a_thing_is, {"tools/utils.py": ""}, "utils"),
    (exceptions_end_in_error, {"errors.py": "class Lost(Exception): pass"}, "Lost"),
    (
        exceptions_end_in_error,
        {"errors.py": "class OneError(Exception): pass\nclass Two(OneError): pass"},
        "Two",
    ),
    (rooms_are_small, {"engine.py": "if a:\n" + body(300)}, "301 lines"),
    (functions_are_short, {"engine.py": "def f():\n" + body(40)}, "41 lines"),
    (files_open_with_a_docstring, {"engine.py": "import json"}, "no docstring"),
    (
        the_face_is_small,
        {"__init__.py": "__all__ = [" + ", ".join(f"'n{n}'" for n in range(61)) + "]"},
        "61 names",
    ),
]

# What looks like a breach and is none.
SOUND: list[tuple[Rule, dict[str, str]]] = [
    (down_the_stairs_only, {"crew.py": "from sidestream.gate import Gate", "gate.py": ""}),
    (
        no_circles,
        {"tools/__init__.py": "from .a import A", "tools/a.py": "from .b import B", "tools/b.py": ""},
    ),
    (no_late_imports, {"cli/main.py": "def f():\n    import uvloop"}),
    (the_core_is_light, {"__init__.py": "if TYPE_CHECKING:\n    import numpy"}),
    (no_broad_excepts, {"crew.py": "try: f()\nexcept Exception: pass"}),
    (no_broad_excepts, {"engine.py": "try: f()\nexcept OSError: pass"}),
    (no_broad_excepts, {"engine.py": "try: f()\nexcept BaseException:\n    g()\n    raise"}),
    (names_say_what_a_thing_is, {"engine.py": "def baseline(): pass\nclass Database: pass"}),
    (exceptions_end_in_error, {"errors.py": "class Retry(Exception): pass"}),
    (
        rooms_are_small,
        {"engine.py": '"""Long.\n' + "\n" * 300 + '"""\nT = [\n' + "    Row(1, 'a'),\n" * 400 + "]\n" + "# no\n" * 300},
    ),
    (functions_are_short, {"engine.py": 'def f():\n    """Long.\n' + "    x\n" * 60 + '    """\n'}),
]

RULES = list(dict.fromkeys(rule for rule, _, _ in BROKEN))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(rule: Rule) -> None:
    complaints = list(rule(real_house()))
    assert not complaints, "\n" + "\n".join(complaints)


@pytest.mark.parametrize(("rule", "files", "word"), BROKEN, ids=lambda value: getattr(value, "__name__", ""))
def test_a_breach_is_seen(rule: Rule, files: dict[str, str], word: str) -> None:
    complaints = list(rule(build(files)))
    assert complaints
    assert word in complaints[0]


@pytest.mark.parametrize(("rule", "files"), SOUND, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_sound_is_left_alone(rule: Rule, files: dict[str, str]) -> None:
    assert not list(rule(build(files)))


# ---- the package as it is imported, and the files around it -----------------------


def test_importing_sidestream_loads_nothing_heavy() -> None:
    probe = f"import sys, sidestream; print(*({HEAVY!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert not done.stdout.split(), "`import sidestream` loads " + done.stdout


def test_every_public_name_is_there() -> None:
    missing = [name for name in sidestream.__all__ if not hasattr(sidestream, name)]
    assert not missing


def files_of_the_project() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        made = re.compile(r"/(\.(?!ci/|gitignore)[^/]*|build|dist|__pycache__)(/|$)")
        found = [p for p in CHECKOUT.rglob("*") if p.is_file()]
        return [p for p in found if not made.search(f"/{p.relative_to(CHECKOUT).as_posix()}")]
    return [CHECKOUT / os.fsdecode(name) for name in listed.split(b"\0") if name]


# Folders of one machine, and addresses of registries: neither belongs in a file that others read.
LOCAL = re.compile(
    rb"(?<![\w.~-])/(?:work|farm|root|tmp/bash_jobs)/|/home/(?!user\b)\w+/"
    rb"|(?:pypi|pythonhosted|npmjs)\.(?:org|com)\b|deb\.debian\.org"
)


def test_a_machine_path_is_seen() -> None:
    for breach in (
        b"see /wo" + b"rk/x",
        b"'/ro" + b"ot/.cache'",
        b"/ho" + b"me/anna/x",
        b"https://py" + b"pi.org/simple",
    ):
        assert LOCAL.search(breach), breach
    for fine in (b"src/work/x", b"~/work/", b"the root/top", b"./work/", b"/home/user/x"):
        assert not LOCAL.search(fine), fine


def test_no_file_names_a_machine() -> None:
    found = []
    for path in files_of_the_project():
        if path.is_file() and path.stat().st_size < 4_000_000:
            for number, line in enumerate(path.read_bytes().splitlines(), 1):
                if LOCAL.search(line):
                    found.append(f"{path.relative_to(CHECKOUT)}:{number}: {line[:120]!r}")
    assert not found, "paths of one machine, or a registry's address; say it without:\n" + "\n".join(found)
