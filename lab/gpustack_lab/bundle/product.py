"""The image of `gpustack serve`: this product, the libraries of requirements/serve.txt, and a Python.

The Python is that of the building machine's Debian release. Elsewhere Containerfile builds the image.
"""

import platform
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack.config.resources import PACKAGE, locate_resource
from gpustack.config.serve_image import format_bundled_image
from gpustack_lab.bundle import userland
from gpustack_lab.bundle.cache import BuiltPart, Part, digest
from gpustack_lab.bundle.images import PATH, Recipe
from gpustack_lab.bundle.oci import Link
from gpustack_lab.bundle.rootfs import ACCOUNTS, Content, collect_libc

PACKAGES = ("python3",)
APP = "/app"
LEFT_OUT = "_data"  # `serve` does without it
INTERPRETER = re.compile(r"root(/usr/bin/python(3\.\d+))")
LIBRARIES = re.compile(rf"root(/usr/lib/python3\.\d+/.+|{APP}/.+)")
DIFFERS = "gpustack itself; Python and its libraries in C are the building machine's Debian packages"


def locate_lock() -> Path:
    return locate_resource("requirements") / "serve.txt"


def declare_python() -> Part:
    """Declare the part with Debian's Python and all it depends on below root, the libraries below root/app, and
    packages.json as in `userland`."""
    inputs = digest(userland.digest_inputs(PACKAGES), locate_lock(), Path(__file__), platform.machine())
    return Part("python", inputs, _install)


def _install(output_dir: Path) -> None:
    """Install wheels for the image's Python, not for this one. No code of a library runs."""
    userland.unpack_packages(output_dir, PACKAGES)
    (version,) = (
        path.name.removeprefix("python") for path in (output_dir / "root/usr/bin").glob("python3.[0-9]*[0-9]")
    )
    wheels = ["--only-binary", ":all:", "--implementation", "cp", "--python-version", version]
    wheels += ["--platform", f"manylinux2014_{platform.machine()}", "--no-deps", "--require-hashes", "--no-compile"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, *wheels, "--target", output_dir / "root" / APP.lstrip("/"), "--requirement", locate_lock()], limit=600)


def declare_product() -> Part:
    """Declare the part with the folder gpustack, which is this package."""
    paths = [path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*")) if path.is_file()]
    product_paths = [path for path in paths if path.parts[0] != LEFT_OUT and "__pycache__" not in path.parts]
    inputs = digest([str(path) for path in product_paths], *(PACKAGE / path for path in product_paths))
    return Part("product", inputs, lambda output_dir: _copy(product_paths, output_dir / "gpustack"))


def _copy(paths: list[Path], target: Path) -> None:
    for path in paths:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PACKAGE / path, target / path)


def build_serve_recipe(built_parts: Mapping[str, BuiltPart]) -> Recipe:
    """Build the recipe of the image. The libraries change less often than the product, and are a layer of their own."""
    base, product = built_parts["python"], built_parts["product"]
    package: Content = {f"{APP}/{path}": product[path] for path in product.files}
    return Recipe(
        format_bundled_image(),
        "gpustack",
        (base, product),
        lambda: [{**collect_libc(base), **ACCOUNTS, **collect_interpreter(base)}, package],
        {
            "Entrypoint": ["python3", "-m", "gpustack.cli.app"],
            "User": "65532:65532",
            "Env": [*PATH, f"PYTHONPATH={APP}", "PYTHONDONTWRITEBYTECODE=1"],
        },
        DIFFERS,
    )


def collect_interpreter(base: BuiltPart) -> Content:
    """Collect Python and every library that it, its own modules and those of /app need."""
    ((program, version),) = (match.groups() for path in base.files if (match := INTERPRETER.fullmatch(path)))
    texts = {match[1]: base[path] for path in base.files if (match := LIBRARIES.fullmatch(path))}
    binaries = [program, *(path for path in texts if path.endswith(".so"))]
    return {
        **texts,
        **userland.resolve_libraries(base.directory / "root", binaries),
        "/usr/bin/python3": Link(f"python{version}"),
    }
