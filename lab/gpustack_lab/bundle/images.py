"""The images of a cluster under their official references, from the programs of the bundle.

Most references are not written in this module: kubeadm prints its list, and Flannel's are read from its own manifest,
so they are those that the hosts ask for. Only the image that tests pods is named in it.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpustack.bundle.programs import run
from gpustack.command import Command
from gpustack.errors import BundleError
from gpustack_lab.bundle import oci, rootfs, userland
from gpustack_lab.bundle.cache import BuiltPart, Part, digest
from gpustack_lab.bundle.rootfs import Content, collect_network_tools, collect_shell
from gpustack_lab.bundle.versions import Versions

TEST_IMAGE = "docker.io/library/busybox"
PURPOSE = "for labs and tests, not for production"
PATH = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]


@dataclass(frozen=True)
class Recipe:
    """Describe an image. `built_parts` are the parts it is built from, `differs` says how it is not as its vendor's
    image."""

    reference: str
    component: str
    built_parts: tuple[BuiltPart, ...]
    layers: Callable[[], list[Content]]
    config: dict[str, Any] = field(default_factory=dict)
    differs: str = "one static program on an empty base"


def build_kubernetes_recipes(version: str, versions: Versions, built_parts: Mapping[str, BuiltPart]) -> list[Recipe]:
    """Build the recipes of the images that kubeadm asks for. Raise BundleError when it asks for an etcd, CoreDNS or
    pause that the version set does not have."""
    programs = built_parts[f"kubernetes-{version}"]
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
        recipes.append(_build_kubernetes_recipe(name, reference, programs, built_parts))
    return recipes


def _build_kubernetes_recipe(
    name: str, reference: str, programs: BuiltPart, built_parts: Mapping[str, BuiltPart]
) -> Recipe:
    if name == "etcd":
        files = {f"/usr/local/bin/{tool}": built_parts["etcd"][tool] for tool in ("etcd", "etcdctl")}
        return Recipe(
            reference,
            "etcd",
            (built_parts["etcd"],),
            lambda: [files],
            differs="etcd and etcdctl on an empty base, no etcdutl",
        )
    if name == "coredns":
        return Recipe(
            reference,
            "coredns",
            (built_parts["coredns"],),
            lambda: [{"/coredns": built_parts["coredns"]["coredns"]}],
            {"Entrypoint": ["/coredns"], "User": "65532:65532"},
            "only the plugins of kubeadm's Corefile, and debug, bind, rewrite, template, whoami",
        )
    if name == "pause":
        return Recipe(
            reference,
            "pause",
            (built_parts["pause"],),
            lambda: [{"/pause": built_parts["pause"]["pause"]}],
            {"Entrypoint": ["/pause"], "User": "65535:65535"},
            "a pause program of gpustack's own",
        )
    if name == "kube-proxy":
        tools = built_parts["userland"]
        return Recipe(
            reference,
            "kubernetes",
            (programs, tools),
            lambda: [collect_network_tools(tools), {"/usr/local/bin/kube-proxy": programs[name]}],
            differs="iptables (nft), nft, conntrack and ip are the building machine's Debian packages",
        )
    return Recipe(reference, "kubernetes", (programs,), lambda: [{f"/usr/local/bin/{name}": programs[name]}])


def build_flannel_recipes(manifest: Path, built_parts: Mapping[str, BuiltPart]) -> list[Recipe]:
    tools, flanneld, plugin = built_parts["userland"], built_parts["flannel"], built_parts["flannel-cni-plugin"]
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
                    lambda: [collect_network_tools(tools), collect_shell(tools), {"/flannel": plugin["flannel"]}],
                    differs=f"the plugin of containernetworking/plugins 0.9.1, its older home; {base}",
                )
            )
        else:
            recipes.append(
                Recipe(
                    reference,
                    "flannel",
                    (flanneld, tools),
                    lambda: [collect_network_tools(tools), collect_shell(tools), programs],
                    {"Entrypoint": ["/opt/bin/flanneld"]},
                    f"no tencent-vpc backend (its cloud SDK is a stub), no wireguard or strongswan tools; {base}",
                )
            )
    return recipes


def build_busybox_recipe(version: str, built_parts: Mapping[str, BuiltPart], name: str = TEST_IMAGE) -> Recipe:
    """Build the recipe of the image for pods that test a cluster. It has a shell, wget, nslookup, httpd, ping, iptables
    and nft."""
    tools = built_parts["userland"]
    return Recipe(
        f"{name}:{version}",
        "busybox",
        (tools,),
        lambda: [collect_network_tools(tools), collect_shell(tools)],
        {"Cmd": ["sh"]},
        "the busybox of the building machine's Debian release, with iptables, nft, conntrack and ip",
    )


def declare_part(recipe: Recipe, versions: Versions, architecture: str) -> Part:
    """Declare the part with blobs/sha256/* and descriptor.json."""
    recipes = sorted(Path(__file__).parent.glob("*images.py"))
    sources = [*recipes, Path(oci.__file__), Path(userland.__file__), Path(rootfs.__file__)]
    inputs = digest(
        recipe.reference,
        recipe.config,
        recipe.differs,
        architecture,
        *sources,
        [built_part.contents for built_part in recipe.built_parts],
    )
    name = "image-" + recipe.reference.replace("/", "_").replace(":", "_")
    return Part(name, inputs, lambda output_dir: _write_image(recipe, versions, architecture, output_dir))


def _write_image(recipe: Recipe, versions: Versions, architecture: str, output_dir: Path) -> None:
    blobs = output_dir / "blobs" / "sha256"
    labels = {
        "org.opencontainers.image.version": recipe.reference.rsplit(":", 1)[1],
        "org.opencontainers.image.source": versions.select_origin(recipe.component),
        "org.opencontainers.image.licenses": versions.select_licence(recipe.component),
        "gpustack.bundle.purpose": PURPOSE,
        "gpustack.bundle.differs": recipe.differs,
    }
    config = {"Env": PATH, "WorkingDir": "/", "Labels": labels, **recipe.config}
    layers = [oci.write_layer(content, blobs) for content in recipe.layers()]
    (output_dir / "descriptor.json").write_text(json.dumps(oci.write_image(layers, config, architecture, blobs)))
