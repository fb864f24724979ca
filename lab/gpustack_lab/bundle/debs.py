"""Debian packages with the names, versions, files and relations of the official ones.

The folder packages/<name>/ has what a package is besides its programs: control, maintainer scripts, tree/. Relations
are those of kubernetes/release (cmd/krel/templates/latest, before its pull request 4518) and of Docker's containerd.io.
"""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack_lab.bundle.cache import BuiltPart, Part, digest

SOURCES = Path(__file__).parent / "packages"
MAINTAINER = "gpustack bundle <bundle@gpustack.invalid>"
NOTE = "Built from Go modules by gpustack, for labs and tests, not for production."
SOURCE_DATE = "1793491200"  # of everything inside a package: 2026-11-01


@dataclass(frozen=True)
class Recipe:
    """Describe a package. `programs` maps the place of installation to a file, and `links` maps the place of a link to
    its target."""

    name: str
    version: str
    tools: tuple[BuiltPart, ...]
    programs: dict[str, Path]
    links: dict[str, str] = field(default_factory=dict)
    note: str = NOTE

    @property
    def file(self) -> str:
        """Return the name without an epoch, as in apt's own file names; `~` stays."""
        return f"{self.name}_{self.version.rpartition(':')[2]}"


def build_kubernetes_recipes(version: str, built_part: BuiltPart) -> list[Recipe]:
    return [
        Recipe(name, f"{version}-1.1", (built_part,), {f"usr/bin/{name}": built_part[name]})
        for name in ("kubeadm", "kubelet", "kubectl")
    ]


def build_cri_tools_recipe(version: str, built_part: BuiltPart) -> Recipe:
    return Recipe("cri-tools", f"{version}-1.1", (built_part,), {"usr/bin/crictl": built_part["crictl"]})


def build_cni_recipe(version: str, built_part: BuiltPart) -> Recipe:
    return Recipe(
        "kubernetes-cni",
        f"{version}-1.1",
        (built_part,),
        {f"opt/cni/bin/{name}": built_part[name] for name in built_part.files},
    )


def build_containerd_recipe(version: str, release: str, containerd: BuiltPart, runc: BuiltPart) -> Recipe:
    """Build the recipe of containerd.io. `release` is like `debian.12~bookworm`. As in its vendor's package, runc is
    inside and no CNI plugins are."""
    programs = {f"usr/bin/{name}": containerd[name] for name in ("containerd", "containerd-shim-runc-v2", "ctr")}
    return Recipe(
        "containerd.io", f"{version}-1~{release}", (containerd, runc), {**programs, "usr/bin/runc": runc["runc"]}
    )


def declare_part(recipe: Recipe, architecture: str) -> Part:
    """Declare the part with <name>_<version>_<architecture>.deb."""
    inputs = digest(
        SOURCES / recipe.name,
        Path(__file__),
        recipe.version,
        architecture,
        [built_part.contents for built_part in recipe.tools],
        sorted(recipe.programs),
        sorted(recipe.links.items()),
        recipe.note,
    )
    return Part(f"deb-{recipe.file}", inputs, lambda output_dir: _pack(recipe, architecture, output_dir))


def _pack(recipe: Recipe, architecture: str, output_dir: Path) -> None:
    root, source = output_dir.parent / "root", SOURCES / recipe.name
    if (source / "tree").is_dir():
        shutil.copytree(source / "tree", root)
    for place, program in recipe.programs.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(program, root / place)
        (root / place).chmod(0o755)
    for place, leads_to in recipe.links.items():
        (root / place).symlink_to(leads_to)
    root.mkdir(exist_ok=True)
    kibibytes = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) // 1024
    control = root / "DEBIAN"
    control.mkdir()
    for script in ("postinst", "prerm", "postrm"):
        if (source / script).exists():
            shutil.copyfile(source / script, control / script)
            (control / script).chmod(0o755)
    if (source / "conffiles").exists():
        shutil.copyfile(source / "conffiles", control / "conffiles")
    fields = (source / "control").read_text().strip().replace("{version}", recipe.version).splitlines()
    description = fields.pop()
    fields[1:1] = [
        f"Version: {recipe.version}",
        f"Architecture: {architecture}",
        f"Maintainer: {MAINTAINER}",
        "Priority: optional",
        f"Installed-Size: {kibibytes}",
    ]
    (control / "control").write_text("\n".join([*fields, description, f" {recipe.note}"]) + "\n")
    target = output_dir / f"{recipe.file}_{architecture}.deb"
    run(
        # Debian 11 reads no zstd yet (dpkg before 1.21.18), and lab hosts with old tools are built from it.
        ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z3", "--build", root, target],
        env={"SOURCE_DATE_EPOCH": SOURCE_DATE},
        limit=300,
    )
    shutil.rmtree(root)
