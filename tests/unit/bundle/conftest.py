"""A bundle in miniature: all real but the programs inside, so that it is built in a second and without a compiler."""

import shutil
from pathlib import Path

import pytest

from gpustack.bundle import files, images, modules, programs, userland
from gpustack.bundle.build import build
from gpustack.bundle.cache import Part, digest
from gpustack.errors import BundleError

KUBERNETES = (
    "kubeadm",
    "kubelet",
    "kubectl",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
)
OUTPUTS = {
    "containerd": ("containerd", "containerd-shim-runc-v2", "ctr"),
    "runc": ("runc",),
    "cni-plugins": ("bridge", "portmap"),
    "flannel": ("flanneld", "install-conf"),
    "flannel-cni-plugin": ("flannel",),
    "etcd": ("etcd", "etcdctl"),
    "coredns": ("coredns",),
    "crictl": ("crictl",),
    "helm": ("helm",),
    "mirror": ("mirror",),
}
KUBEADM = """#!/bin/sh
for name in apiserver controller-manager scheduler proxy; do echo "registry.k8s.io/kube-$name:v{version}"; done
echo registry.k8s.io/coredns/coredns:v1.14.2
echo registry.k8s.io/pause:3.10.2
echo registry.k8s.io/etcd:3.6.8-0
"""
# Answers as the mirror does, and ends with its parent as the mirror does.
MIRROR = """#!/bin/sh
echo "listening on 127.0.0.1:65000"
case "$*" in *-attached*) exec cat >/dev/null ;; esac
exec sleep 60
"""
FLANNEL = "image: ghcr.io/flannel-io/flannel:v0.28.9\nimage: ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel3\n"


def scripts(name: str, contents: dict[str, str]) -> Part:
    """A part whose programs are shell scripts or plain text."""

    def make(out: Path) -> None:
        for path, content in contents.items():
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).write_text(content)
            (out / path).chmod(0o755)

    return Part(name, digest(name, contents), make)


def parts(_versions: object, kubernetes: tuple[str, ...]) -> list[Part]:
    made = []
    for version in kubernetes:
        contents = {name: f"{name} {version}" for name in KUBERNETES} | {
            "kubeadm": KUBEADM.replace("{version}", version)
        }
        made.append(scripts(f"kubernetes-{version}", contents))
    for tool, outputs in OUTPUTS.items():
        made.append(scripts(tool, {name: MIRROR if name == "mirror" else f"{name} of {tool}" for name in outputs}))
    return made


def replace_compilers(patch: pytest.MonkeyPatch) -> None:
    packages = '[{"name": "busybox", "version": "1", "sha256": "0"}]'
    needed = {name: "" for name in programs.PACKAGES if name not in ("go", "gcc")}
    patch.setattr(modules, "parts", parts)
    patch.setattr(modules, "pause", lambda: scripts("pause", {"pause": "pause"}))
    patch.setattr(userland, "part", lambda: scripts("userland", {"packages.json": packages}))
    patch.setattr(files, "flannel_manifest", lambda _: scripts("flannel-manifest", {"kube-flannel.yml": FLANNEL}))
    patch.setattr(images, "network", lambda _: {"/usr/sbin/iptables": b"iptables"})
    patch.setattr(images, "shell", lambda _: {"/usr/bin/busybox": b"busybox"})
    patch.setattr("gpustack.bundle.build.PACKAGES", needed)


def move_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    for kind in ("CACHE", "DATA", "STATE", "CONFIG"):
        patch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("user")


@pytest.fixture(scope="session")
def built(home: Path) -> Path:
    """The miniature bundle, as built. Tests must not change it."""
    try:
        programs.need("apt-ftparchive", "dpkg-deb", "gpg", "gpgv")
    except BundleError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, home)
        replace_compilers(patch)
        build(home / "bundle")
    return home / "bundle"


@pytest.fixture(autouse=True)
def _own_directories(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Nothing here reads or writes the real user's cache and key."""
    move_home(monkeypatch, home)


@pytest.fixture
def no_compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing needs to be compiled or fetched: `build` makes the miniature."""
    replace_compilers(monkeypatch)


@pytest.fixture
def bundle(built: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_compilers: None) -> Path:
    """A copy of the miniature bundle and of the cache it came from, to be changed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(shutil.copytree(home / "cache", tmp_path / "cache")))
    return Path(shutil.copytree(built, tmp_path / "bundle"))
