"""The image of `gpustack serve`: this product, the libraries of requirements/serve.txt, and the Python of the building
machine's Debian release. What Containerfile builds elsewhere."""

import platform
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from gpustack.bundle import userland
from gpustack.bundle.cache import Made, Part, digest
from gpustack.bundle.images import PATH, Recipe
from gpustack.bundle.oci import Link
from gpustack.bundle.programs import run
from gpustack.bundle.rootfs import ACCOUNTS, Content, libc
from gpustack.config.resources import PACKAGE, shipped
from gpustack.config.served import bundled_image

PACKAGES = ("python3",)
APP = "/app"
LEFT_OUT = ("_data", "bundle", "lab", "simulated")  # rooms that `serve` does without
INTERPRETER = re.compile(r"root(/usr/bin/python(3\.\d+))")
LIBRARIES = re.compile(rf"root(/usr/lib/python3\.\d+/.+|{APP}/.+)")
DIFFERS = "gpustack itself; Python and its libraries in C are the building machine's Debian packages"


def lock() -> Path:
    return shipped("requirements") / "serve.txt"


def python() -> Part:
    """out/root holds Debian's Python with all it depends on, and the libraries in /app; out/packages.json as of
    `userland`."""
    inputs = digest(userland.inputs(PACKAGES), lock(), Path(__file__), platform.machine())
    return Part("python", inputs, _install)


def _install(out: Path) -> None:
    """Wheels alone, for the image's Python and not for ours: nothing of a library is run."""
    userland.unpack(out, PACKAGES)
    (version,) = (path.name.removeprefix("python") for path in (out / "root/usr/bin").glob("python3.[0-9]*[0-9]"))
    wheels = ["--only-binary", ":all:", "--implementation", "cp", "--python-version", version]
    wheels += ["--platform", f"manylinux2014_{platform.machine()}", "--no-deps", "--require-hashes", "--no-compile"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, *wheels, "--target", out / "root" / APP.lstrip("/"), "--requirement", lock()], limit=600)


def itself() -> Part:
    """out/gpustack is the package."""
    paths = [path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*")) if path.is_file()]
    ours = [path for path in paths if path.parts[0] not in LEFT_OUT and "__pycache__" not in path.parts]
    inputs = digest([str(path) for path in ours], *(PACKAGE / path for path in ours))
    return Part("product", inputs, lambda out: _copy(ours, out / "gpustack"))


def _copy(paths: list[Path], to: Path) -> None:
    for path in paths:
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PACKAGE / path, to / path)


def image(made: Mapping[str, Made]) -> Recipe:
    """Its libraries change less often than we do, and are a layer of their own."""
    base, ours = made["python"], made["product"]
    package: Content = {f"{APP}/{path}": ours[path] for path in ours.files}
    return Recipe(
        bundled_image(),
        "gpustack",
        (base, ours),
        lambda: [{**libc(base), **ACCOUNTS, **interpreter(base)}, package],
        {
            "Entrypoint": ["python3", "-m", "gpustack.cli.app"],
            "User": "65532:65532",
            "Env": [*PATH, f"PYTHONPATH={APP}", "PYTHONDONTWRITEBYTECODE=1"],
        },
        DIFFERS,
    )


def interpreter(base: Made) -> Content:
    """Python and every library that it, its own modules and those of /app need."""
    ((program, version),) = (found.groups() for path in base.files if (found := INTERPRETER.fullmatch(path)))
    texts = {found[1]: base[path] for path in base.files if (found := LIBRARIES.fullmatch(path))}
    binaries = [program, *(path for path in texts if path.endswith(".so"))]
    return {
        **texts,
        **userland.closure(base.directory / "root", binaries),
        "/usr/bin/python3": Link(f"python{version}"),
    }
