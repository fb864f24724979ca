"""Debian packages with the names, versions, files and relations of the official ones.

What a package is besides its programs stands in packages/<name>/: control, maintainer scripts, tree/. Relations are
those of kubernetes/release (cmd/krel/templates/latest, before its pull request 4518) and of Docker's containerd.io.
"""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from gpustack.bundle.cache import Made, Part, digest
from gpustack.bundle.programs import run

SOURCES = Path(__file__).parent / "packages"
MAINTAINER = "gpustack bundle <bundle@gpustack.invalid>"
NOTE = "Built from Go modules by gpustack, for labs and tests, not for production."
SOURCE_DATE = "1793491200"  # of everything inside a package: 2026-11-01


@dataclass(frozen=True)
class Recipe:
    """`programs` maps where a file is installed to the file, `links` where a link is to what it leads to."""

    name: str
    version: str
    tools: tuple[Made, ...]
    programs: dict[str, Path]
    links: dict[str, str] = field(default_factory=dict)
    note: str = NOTE

    @property
    def file(self) -> str:
        """Without an epoch, as in apt's own file names; `~` stays."""
        return f"{self.name}_{self.version.rpartition(':')[2]}"


def kubernetes(version: str, made: Made) -> list[Recipe]:
    return [
        Recipe(name, f"{version}-1.1", (made,), {f"usr/bin/{name}": made[name]})
        for name in ("kubeadm", "kubelet", "kubectl")
    ]


def cri_tools(version: str, made: Made) -> Recipe:
    return Recipe("cri-tools", f"{version}-1.1", (made,), {"usr/bin/crictl": made["crictl"]})


def kubernetes_cni(version: str, made: Made) -> Recipe:
    return Recipe(
        "kubernetes-cni", f"{version}-1.1", (made,), {f"opt/cni/bin/{name}": made[name] for name in made.files}
    )


def containerd(version: str, release: str, containerd: Made, runc: Made) -> Recipe:
    """RELEASE is like `debian.12~bookworm`. As its vendor's: runc inside, no CNI plugins."""
    programs = {f"usr/bin/{name}": containerd[name] for name in ("containerd", "containerd-shim-runc-v2", "ctr")}
    return Recipe(
        "containerd.io", f"{version}-1~{release}", (containerd, runc), {**programs, "usr/bin/runc": runc["runc"]}
    )


def part(recipe: Recipe, architecture: str) -> Part:
    """Makes out/<name>_<version>_<architecture>.deb."""
    inputs = digest(
        SOURCES / recipe.name,
        Path(__file__),
        recipe.version,
        architecture,
        [made.contents for made in recipe.tools],
        sorted(recipe.programs),
        sorted(recipe.links.items()),
        recipe.note,
    )
    return Part(f"deb-{recipe.file}", inputs, lambda out: _pack(recipe, architecture, out))


def _pack(recipe: Recipe, architecture: str, out: Path) -> None:
    root, source = out.parent / "root", SOURCES / recipe.name
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
    target = out / f"{recipe.file}_{architecture}.deb"
    run(
        # Debian 11 reads no zstd yet (dpkg before 1.21.18), and lab hosts with old tools are made of it.
        ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z3", "--build", root, target],
        env={"SOURCE_DATE_EPOCH": SOURCE_DATE},
        limit=300,
    )
    shutil.rmtree(root)
