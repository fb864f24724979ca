"""Go programs compiled from pinned modules. What is compiled stands in modules/<tool>/go.mod, its checksums in go.sum.

Nothing is patched: the `tool` lines of a go.mod are the packages built, or the module's own main where it has one.
"""

import json
import os
import platform
import shutil
from pathlib import Path

from gpustack.bundle import kubernetes_module
from gpustack.bundle.cache import Part, digest
from gpustack.bundle.programs import GO_AT_LEAST, run
from gpustack.bundle.tools import TOOLS, Tool
from gpustack.bundle.versions import Versions
from gpustack.command import Command
from gpustack.errors import BundleError

SOURCES = Path(__file__).parent / "modules"
COMPILE_LIMIT = 3600.0
FLAGS = "-trimpath -buildvcs=false"  # the same for everybody, so that Go's own cache serves all


def parts(versions: Versions, kubernetes: tuple[str, ...]) -> list[Part]:
    """One part per tool; Kubernetes once per version and first, being longest. Raises BundleError for an old Go."""
    go = go_version()
    made = [_part(tool, version, version, go) for tool in TOOLS[:1] for version in kubernetes]
    return made + [_part(tool, versions.module(tool.name), versions.release(tool.name), go) for tool in TOOLS[1:]]


def _part(tool: Tool, version: str, release: str, go: str) -> Part:
    """`version` is the module's, `release` what the program says of itself."""
    source = SOURCES / tool.name
    compilers = [go, platform.machine()]
    if tool.c_linker:
        compilers += [run(["gcc", "-dumpfullversion"], limit=20).strip(), *(_library(name) for name in tool.libraries)]
    names = sorted(tool.names.items())
    inputs = digest(source, version, release, tool.stamps, tool.c_linker, tool.tags, names, compilers, FLAGS)
    name = f"{tool.name}-{version}" if tool.name == "kubernetes" else tool.name
    return Part(name, inputs, lambda out: _compile(tool, version, release, out))


def environment(*, cgo: bool) -> dict[str, str]:
    """Go's settings: its own toolchain, parts in C or not, and the checksum database always asked."""
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


def _compile(tool: Tool, version: str, release: str, out: Path) -> None:
    source = out.parent / "source"
    shutil.copytree(SOURCES / tool.name, source)
    env = environment(cgo=bool(tool.c_linker))
    if tool.name == "kubernetes":
        kubernetes_module.pin(source, version, env)
    major, minor, *_ = release.split(".")
    date = _released(tool.module, version, env)
    flags = ["-s", "-w"] + ([f"'-extldflags={tool.c_linker}'"] if tool.c_linker else [])
    for stamp in tool.stamps:
        flags += ["-X", stamp.format(version=release, major=major, minor=minor, date=date)]
    package = "." if (source / "main.go").exists() else "tool"
    run(
        ["go", "build", "-tags", tool.tags, "-ldflags", " ".join(flags), "-o", f"{out}/", package],
        cwd=source,
        env=env,
        limit=COMPILE_LIMIT,
    )
    for given, ours in tool.names.items():
        (out / given).rename(out / ours)
    shutil.rmtree(source)


def _released(module: str, version: str, env: dict[str, str]) -> str:
    """When the version was tagged, as the module index says."""
    download = json.loads(run(["go", "mod", "download", "-json", f"{module}@v{version}"], env=env, limit=600))
    return str(json.loads(Path(download["Info"]).read_text())["Time"])


def go_version() -> str:
    """Like `1.26.8`. Raises BundleError if it is too old."""
    found = run(["go", "env", "GOVERSION"], env={"GOTOOLCHAIN": "local"}, limit=20).strip().removeprefix("go")
    if tuple(int(word) for word in found.split(" ")[0].split("rc")[0].split(".")[:2]) < GO_AT_LEAST:
        wanted = ".".join(map(str, GO_AT_LEAST))
        raise BundleError(
            "bundle-go-old",
            f"Go {found} is too old: {wanted} or newer is needed",
            "https://go.dev/dl",
            Command("go", "version"),
        )
    return found


def _library(package: str) -> str:
    try:
        return run(["dpkg-query", "-Wf", "${Version}", package], limit=20).strip()
    except BundleError as error:
        raise BundleError(
            "bundle-program-missing",
            f"the library {package} is missing",
            error.why,
            Command("apt-get", "install", "--no-install-recommends", package),
        ) from error


def pause() -> Part:
    """The pause program, of our own and in C: a few pages of memory in every pod."""
    source = SOURCES / "pause" / "pause.c"
    compiler = run(["gcc", "-dumpfullversion"], limit=20).strip()
    argv = ["gcc", "-Os", "-static", "-s", "-o"]
    return Part(
        "pause", digest(source, compiler, argv, platform.machine()), lambda out: _pause(argv, out / "pause", source)
    )


def _pause(argv: list[str], out: Path, source: Path) -> None:
    run([*argv, out, source], limit=60)
