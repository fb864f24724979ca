"""A bundle in miniature: all real but the programs inside, so that it is built in a second and without a compiler."""

import shutil
from pathlib import Path

import pytest

from gpustack.bundle import programs
from gpustack.errors import BundleError
from gpustack_lab.bundle import (
    charts,
    crds,
    driver_debs,
    files,
    gpu_images,
    images,
    licences,
    modules,
    monitoring_images,
    product,
    simulated_images,
    userland,
)
from gpustack_lab.bundle.build import PACKAGES, build
from tests.unit.bundle import small_bundle
from tests.unit.bundle.small_bundle import make_scripts, make_texts


def replace_compilers(patch: pytest.MonkeyPatch, home: Path) -> None:
    packages = '[{"name": "busybox", "version": "1", "sha256": "0"}]'
    needed_packages = {name: source for name, source in PACKAGES.items() if name not in ("go", "gcc")}
    patch.setattr(modules, "declare_parts", small_bundle.make_parts)
    patch.setattr(modules, "declare_pause", lambda: make_scripts("pause", {"pause": "pause"}))
    patch.setattr(userland, "declare_part", lambda: make_scripts("userland", {"packages.json": packages}))
    patch.setattr(product, "declare_python", lambda: make_scripts("python", {"packages.json": packages}))
    patch.setattr(product, "collect_interpreter", lambda _: {"/usr/bin/python3": b"python"})
    patch.setattr(
        files,
        "declare_manifest",
        lambda name, _: make_scripts(f"{name}-manifest", dict([small_bundle.MANIFESTS[name]])),
    )
    patch.setattr(
        crds,
        "declare_prometheus_crds",
        lambda *_: make_texts("prometheus-crds", (small_bundle.CRDS["prometheus-crds"],)),
    )
    patch.setattr(crds, "declare_nfd_crds", lambda _: make_texts("nfd-crds", (small_bundle.CRDS["nfd-crds"],)))
    patch.setattr(
        simulated_images, "declare_part", lambda: make_texts("simulated-cluster", small_bundle.SIMULATED_PARTS)
    )
    patch.setattr(
        driver_debs,
        "declare_part",
        lambda _: make_scripts("simulated-driver", dict.fromkeys(small_bundle.DRIVER, "driver")),
    )
    patch.setattr(charts, "CHARTS", home / "charts")
    patch.setattr(licences, "read_build_info", lambda _path: small_bundle.BUILT_FROM.format(len(_path)))
    patch.setattr(licences, "locate_module_cache", lambda: small_bundle.make_module_cache(home / "modules"))
    layers = {
        "collect_network_tools": {"/usr/sbin/iptables": b"iptables"},
        "collect_libc": {"/usr/lib/libc.so.6": b"libc"},
        "collect_shell": {"/usr/bin/busybox": b"busybox"},
    }
    for module in (images, monitoring_images, gpu_images, simulated_images, product):
        for name in layers.keys() & vars(module).keys():
            patch.setattr(module, name, lambda _, layer=layers[name]: layer)
    patch.setattr("gpustack_lab.bundle.build.PACKAGES", needed_packages)


def move_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    for kind in ("CACHE", "DATA", "STATE", "CONFIG"):
        patch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("user")


@pytest.fixture(scope="session")
def shared_bundle(home: Path) -> Path:
    """The miniature bundle, as built. Tests must not change it."""
    try:
        programs.need({**programs.PACKAGES, "apt-ftparchive": "apt-utils", "dpkg-deb": "dpkg"})
    except BundleError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, home)
        small_bundle.make_charts(home / "charts")
        replace_compilers(patch, home)
        build(home / "bundle")
    return home / "bundle"


@pytest.fixture(autouse=True)
def _own_directories(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Nothing here reads or writes the real user's cache and key."""
    move_home(monkeypatch, home)


@pytest.fixture
def no_compilers(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Nothing needs to be compiled or fetched: `build` makes the small_bundle."""
    replace_compilers(monkeypatch, home)


@pytest.fixture
def bundle(
    shared_bundle: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_compilers: None
) -> Path:
    """A copy of the miniature bundle and of the cache it came from, to be changed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(shutil.copytree(home / "cache", tmp_path / "cache")))
    return Path(shutil.copytree(shared_bundle, tmp_path / "bundle"))
