"""tests/worlds has what tests of several folders share; what the tests of one folder use lies beside them."""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORLDS = ROOT / "tests" / "worlds"
DOTTED_MODULE = re.compile(r"\btests\.worlds\.([a-z_.]+)")
IMPORTED_NAMES = re.compile(r"^from tests\.worlds\.([a-z_]+) import (\w.*|\([^)]*\))", re.MULTILINE)
SOURCES = [*(ROOT / "tests").rglob("*.py"), *(path for path in (ROOT / "scripts").rglob("*") if path.is_file())]


def list_modules() -> set[str]:
    return {
        ".".join(path.relative_to(WORLDS).with_suffix("").parts)
        for path in WORLDS.rglob("*.py")
        if path.name != "__init__.py"
    }


def find_uses(text: str) -> set[str]:
    """Find the modules of tests/worlds that a text imports or runs, as `snapshots.hosts`."""
    names = set(DOTTED_MODULE.findall(text))
    for package, imports in IMPORTED_NAMES.findall(text):
        names |= {f"{package}.{name}" for name in re.findall(r"\w+", imports)}
    return names


def map_users() -> dict[str, set[str]]:
    """Map each module to the folders of those that use it, also by way of other modules."""
    importers: dict[str, set[str]] = defaultdict(set)
    for path in SOURCES:
        name = path.relative_to(ROOT).as_posix() if WORLDS not in path.parents else ""
        user = name or ".".join(path.relative_to(WORLDS).with_suffix("").parts)
        for module in find_uses(path.read_text(encoding="utf-8", errors="ignore")) - {user}:
            importers[module].add(user)

    def list_folders(module: str) -> set[str]:
        users = importers[module]
        inner = [list_folders(user) for user in users if "/" not in user]
        return {user.rpartition("/")[0] for user in users if "/" in user}.union(*inner)

    return {module: list_folders(module) for module in list_modules()}


def test_every_module_is_shared() -> None:
    single = {module: users for module, users in map_users().items() if len(users) < 2 and users != {"scripts"}}
    assert single == {}, "move it beside the tests that use it"


def test_the_page_names_every_package() -> None:
    page = (WORLDS / "README.md").read_text()
    packages = {path.name for path in WORLDS.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert packages == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
