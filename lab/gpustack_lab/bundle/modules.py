"""Go programs compiled from pinned modules: modules/<tool>/go.mod with its checksums in go.sum.

Nothing is patched: the `tool` lines of a go.mod are the packages built, or the module's own main where it has one.
"""

import json
import os
import platform
import re
import shutil
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack.command import Command
from gpustack.errors import BundleError
from gpustack_lab.bundle import kubernetes_module
from gpustack_lab.bundle.cache import Part, digest
from gpustack_lab.bundle.tools import TOOLS, Tool
from gpustack_lab.bundle.versions import Versions

SOURCES = Path(__file__).parent / "modules"
COMPILE_LIMIT = 3600.0
GO_AT_LEAST = (1, 26)
FLAGS = "-trimpath -buildvcs=false"  # the same for everybody, so that Go's own cache serves all


def declare_parts(versions: Versions, kubernetes: tuple[str, ...]) -> list[Part]:
    """Declare one part per tool. Kubernetes has one per version and is first, since it takes longest. Raise BundleError
    for an old Go."""
    go = read_go_version()
    kubernetes_parts = [_declare_part(tool, version, version, go) for tool in TOOLS[:1] for version in kubernetes]
    return kubernetes_parts + [
        _declare_part(tool, versions.select_module_version(tool.name), versions.select_release_version(tool.name), go)
        for tool in TOOLS[1:]
    ]


def _declare_part(tool: Tool, version: str, release: str, go: str) -> Part:
    """Declare the part of a tool. `version` is that of the module, `release` is what the program says of itself."""
    source = SOURCES / tool.name
    compilers = [go, platform.machine()]
    if tool.c_linker:
        compilers += [
            run(["gcc", "-dumpfullversion"], limit=20).strip(),
            *(_query_library_version(name) for name in tool.libraries),
        ]
    names = sorted(tool.names.items())
    inputs = digest(source, version, release, tool.stamps, tool.c_linker, tool.tags, names, compilers, FLAGS)
    name = f"{tool.name}-{version}" if tool.name == "kubernetes" else tool.name
    return Part(name, inputs, lambda output_dir: _compile(tool, version, release, output_dir), tool.seconds)


def build_go_environment(*, cgo: bool) -> dict[str, str]:
    """Build the variables of Go: its own toolchain, parts in C or not, and the checksum database always asked."""
    database = os.environ.get("GOSUMDB", "")
    return {
        "GOFLAGS": FLAGS,
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "CGO_ENABLED": "1" if cgo else "0",
        # Empty is Go's own default.
        "GOSUMDB": "" if database == "off" else database,
        **dict.fromkeys(("GOPRIVATE", "GONOSUMDB", "GONOSUMCHECK", "GOINSECURE", "GOEXPERIMENT"), ""),
    }


def _compile(tool: Tool, version: str, release: str, output_dir: Path) -> None:
    source = output_dir.parent / "source"
    shutil.copytree(SOURCES / tool.name, source)
    env = build_go_environment(cgo=bool(tool.c_linker))
    if tool.name == "kubernetes":
        kubernetes_module.pin(source, version, env)
    major, minor, *_ = release.split(".")
    date = _fetch_release_date(tool.module, version, env)
    flags = ["-s", "-w"] + ([f"'-extldflags={tool.c_linker}'"] if tool.c_linker else [])
    for stamp in tool.stamps:
        flags += ["-X", stamp.format(version=release, major=major, minor=minor, date=date)]
    package = "." if (source / "main.go").exists() else "tool"
    run(
        ["go", "build", "-tags", tool.tags, "-ldflags", " ".join(flags), "-o", f"{output_dir}/", package],
        cwd=source,
        env=env,
        limit=COMPILE_LIMIT,
    )
    for default_name, program in tool.names.items():
        (output_dir / default_name).rename(output_dir / program)
    shutil.rmtree(source)


def _fetch_release_date(module: str, version: str, env: dict[str, str]) -> str:
    """Fetch the time at which the version was tagged, from the module index."""
    download = json.loads(run(["go", "mod", "download", "-json", f"{module}@v{version}"], env=env, limit=600))
    return str(json.loads(Path(download["Info"]).read_text())["Time"])


def read_go_version() -> str:
    """Read the version of Go, like `1.26.8`. Raise BundleError if a module needs a newer one."""
    version = run(["go", "env", "GOVERSION"], env={"GOTOOLCHAIN": "local"}, limit=20).strip().removeprefix("go")
    minimum = max(_list_required_versions(), key=_parse_go_version)
    if _parse_go_version(version) < _parse_go_version(minimum):
        raise BundleError(
            "bundle-go-old",
            f"Go {version} is too old: {minimum} or newer is needed",
            "https://go.dev/dl",
            Command("go", "version"),
        )
    return version


def _list_required_versions() -> list[str]:
    """List the oldest Go that each module accepts."""
    texts = (path.read_text() for path in SOURCES.glob("*/go.mod"))
    return [version for text in texts for version in re.findall(r"^go (\S+)$", text, re.MULTILINE)]


def _parse_go_version(text: str) -> tuple[int, ...]:
    """Parse `1.26.8`, `1.27rc1` and `1.26.8 X:nodwarf5`. A version without numbers is older than all others."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(number or 0) for number in match.groups()) if match else ()


def _query_library_version(package: str) -> str:
    try:
        return run(["dpkg-query", "-Wf", "${Version}", package], limit=20).strip()
    except BundleError as error:
        raise BundleError(
            "bundle-program-missing",
            f"the library {package} is missing",
            error.reason,
            Command("apt-get", "install", "--no-install-recommends", package),
        ) from error


def declare_pause() -> Part:
    """Declare the part of the pause program, which is gpustack's own and in C: a few pages of memory in every pod."""
    source = SOURCES / "pause" / "pause.c"
    compiler = run(["gcc", "-dumpfullversion"], limit=20).strip()
    argv = ["gcc", "-Os", "-static", "-s", "-o"]
    return Part(
        "pause",
        digest(source, compiler, argv, platform.machine()),
        lambda output_dir: _compile_pause(argv, output_dir / "pause", source),
    )


def _compile_pause(argv: list[str], target: Path, source: Path) -> None:
    run([*argv, target, source], limit=60)
