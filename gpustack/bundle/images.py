"""The images of a cluster under their official references, from the programs built here.

References are not written here: kubeadm is asked for its list, and Flannel's are read from its own manifest, so they
are what the hosts will ask for. Only the image that tests pods is named by us.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpustack.bundle import oci, rootfs, userland
from gpustack.bundle.cache import Made, Part, digest
from gpustack.bundle.programs import run
from gpustack.bundle.rootfs import Content, network, shell
from gpustack.bundle.versions import Versions
from gpustack.command import Command
from gpustack.errors import BundleError

TEST_IMAGE = "docker.io/library/busybox"
PURPOSE = "for labs and tests, not for production"
PATH = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]


@dataclass(frozen=True)
class Recipe:
    """`made` are the parts it is built from, `differs` says how it is not as its vendor's image."""

    reference: str
    component: str
    made: tuple[Made, ...]
    layers: Callable[[], list[Content]]
    config: dict[str, Any] = field(default_factory=dict)
    differs: str = "one static program on an empty base"


def kubernetes(version: str, versions: Versions, made: Mapping[str, Made]) -> list[Recipe]:
    """Raises BundleError when kubeadm asks for an etcd, CoreDNS or pause that the version set does not have."""
    programs = made[f"kubernetes-{version}"]
    references = run([programs["kubeadm"], "config", "images", "list", "--kubernetes-version", f"v{version}"], limit=60)
    expected = {"etcd": versions["etcd"] + "-0", "coredns": "v" + versions["coredns"], "pause": versions["pause"]}
    recipes = []
    for reference in references.split():
        path, tag = reference.rsplit(":", 1)
        name = path.rsplit("/", 1)[1]
        if expected.get(name, f"v{version}") != tag:
            raise BundleError(
                "bundle-version-apart",
                f"Kubernetes {version} asks for {reference}",
                f"version set {versions.set} has {name} {expected.get(name, version)}",
                Command("kubeadm", "config", "images", "list"),
            )
        recipes.append(_kubernetes(name, reference, programs, made))
    return recipes


def _kubernetes(name: str, reference: str, programs: Made, made: Mapping[str, Made]) -> Recipe:
    if name == "etcd":
        files = {f"/usr/local/bin/{tool}": made["etcd"][tool] for tool in ("etcd", "etcdctl")}
        return Recipe(
            reference, "etcd", (made["etcd"],), lambda: [files], differs="etcd and etcdctl on an empty base, no etcdutl"
        )
    if name == "coredns":
        return Recipe(
            reference,
            "coredns",
            (made["coredns"],),
            lambda: [{"/coredns": made["coredns"]["coredns"]}],
            {"Entrypoint": ["/coredns"], "User": "65532:65532"},
            "only the plugins of kubeadm's Corefile, and debug, bind, rewrite, template, whoami",
        )
    if name == "pause":
        return Recipe(
            reference,
            "pause",
            (made["pause"],),
            lambda: [{"/pause": made["pause"]["pause"]}],
            {"Entrypoint": ["/pause"], "User": "65535:65535"},
            "a pause program of gpustack's own",
        )
    if name == "kube-proxy":
        tools = made["userland"]
        return Recipe(
            reference,
            "kubernetes",
            (programs, tools),
            lambda: [network(tools), {"/usr/local/bin/kube-proxy": programs[name]}],
            differs="iptables (nft), nft, conntrack and ip are the building machine's Debian packages",
        )
    return Recipe(reference, "kubernetes", (programs,), lambda: [{f"/usr/local/bin/{name}": programs[name]}])


def flannel(manifest: Path, made: Mapping[str, Made]) -> list[Recipe]:
    tools, flanneld, plugin = made["userland"], made["flannel"], made["flannel-cni-plugin"]
    programs = {f"/opt/bin/{name}": flanneld[name] for name in ("flanneld", "install-conf")}
    base = "iptables (nft), nft, conntrack, ip and busybox are the building machine's Debian packages"
    recipes = []
    for reference in sorted(set(re.findall(r"image:\s*(\S+)", manifest.read_text()))):
        if "flannel-cni-plugin" in reference:
            recipes.append(
                Recipe(
                    reference,
                    "flannel-cni-plugin",
                    (plugin, tools),
                    lambda: [network(tools), shell(tools), {"/flannel": plugin["flannel"]}],
                    differs=f"the plugin of containernetworking/plugins 0.9.1, its older home; {base}",
                )
            )
        else:
            recipes.append(
                Recipe(
                    reference,
                    "flannel",
                    (flanneld, tools),
                    lambda: [network(tools), shell(tools), programs],
                    {"Entrypoint": ["/opt/bin/flanneld"]},
                    f"no tencent-vpc backend (its cloud SDK is a stub), no wireguard or strongswan tools; {base}",
                )
            )
    return recipes


def busybox(version: str, made: Mapping[str, Made], name: str = TEST_IMAGE) -> Recipe:
    """For pods that test a cluster: a shell, wget, nslookup, httpd, ping; iptables and nft besides."""
    tools = made["userland"]
    return Recipe(
        f"{name}:{version}",
        "busybox",
        (tools,),
        lambda: [network(tools), shell(tools)],
        {"Cmd": ["sh"]},
        "the busybox of the building machine's Debian release, with iptables, nft, conntrack and ip",
    )


def part(recipe: Recipe, versions: Versions, architecture: str) -> Part:
    """out/: blobs/sha256/* and descriptor.json."""
    recipes = sorted(Path(__file__).parent.glob("*images.py"))
    sources = [*recipes, Path(oci.__file__), Path(userland.__file__), Path(rootfs.__file__)]
    inputs = digest(
        recipe.reference, recipe.config, recipe.differs, architecture, *sources, [made.contents for made in recipe.made]
    )
    name = "image-" + recipe.reference.replace("/", "_").replace(":", "_")
    return Part(name, inputs, lambda out: _make(recipe, versions, architecture, out))


def _make(recipe: Recipe, versions: Versions, architecture: str, out: Path) -> None:
    blobs = out / "blobs" / "sha256"
    labels = {
        "org.opencontainers.image.version": recipe.reference.rsplit(":", 1)[1],
        "org.opencontainers.image.source": versions.origin(recipe.component),
        "org.opencontainers.image.licenses": versions.licence(recipe.component),
        "gpustack.bundle.purpose": PURPOSE,
        "gpustack.bundle.differs": recipe.differs,
    }
    config = {"Env": PATH, "WorkingDir": "/", "Labels": labels, **recipe.config}
    layers = [oci.layer(content, blobs) for content in recipe.layers()]
    (out / "descriptor.json").write_text(json.dumps(oci.image(layers, config, architecture, blobs)))
