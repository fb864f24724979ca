"""Which parts a bundle has, made in order, and where each file of theirs lies.

DIR/files/<host>/<path> is what https://<host>/<path> is officially; DIR/images is an OCI image layout; DIR/bin/mirror
serves both.
"""

import json
import threading
import time
from collections.abc import Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from gpustack.bundle import (
    apt,
    charts,
    checksums,
    crds,
    debs,
    driver_debs,
    files,
    gpu_images,
    images,
    licences,
    modules,
    monitoring_images,
    product,
    programs,
    simulated_images,
    userland,
)
from gpustack.bundle.cache import Cache, Made, Part
from gpustack.bundle.keys import Signer
from gpustack.bundle.manifest import Image
from gpustack.bundle.versions import Versions
from gpustack.config.versions import minor
from gpustack.events import Event, Reporter

TOGETHER = 2  # parts made at the same time; a Go compile uses several cores by itself
# Ubuntu's are for lab hosts that have its os-release: gpustack/lab/releases.py.
RELEASES = {
    "debian": {"bookworm": "debian.12~bookworm", "trixie": "debian.13~trixie"},
    "ubuntu": {"jammy": "ubuntu.22.04~jammy", "resolute": "ubuntu.26.04~resolute"},
}


@dataclass(frozen=True)
class Placed:
    """`path` is where it lies in the bundle."""

    path: str
    source: Path
    sha256: str
    name: str
    version: str
    origin: str
    licence: str
    note: str = ""


@dataclass(frozen=True)
class Composed:
    files: list[Placed]
    images: dict[str, dict[str, object]]
    labels: list[Image]
    debian: list[userland.Package]


class Composer:
    def __init__(
        self, cache: Cache, versions: Versions, architecture: str, signer: Signer, report: Reporter, *, keda: bool
    ) -> None:
        self.cache, self.versions, self.architecture, self.signer = cache, versions, architecture, signer
        self.without = () if keda else ("keda",)
        lock = threading.Lock()

        def one_at_a_time(event: Event) -> None:
            with lock:
                report(event)

        self.report = one_at_a_time

    def compose(self, kubernetes: tuple[str, ...]) -> Composed:
        compiled = [part for part in modules.parts(self.versions, kubernetes) if part.name not in self.without]
        programs = [*compiled, modules.pause(), simulated_images.part()]
        programs.append(driver_debs.part(self.versions["nvidia-driver"]))
        made = self._all([*programs, userland.part(), product.python(), product.itself()])
        debian = [made["userland"], made["python"]]
        single = [*self._files(made), *self._charts(made)]
        placed = [*self._apt(kubernetes, made), *self._nvidia_apt(made)]
        layout, labels, blobs = self._images(kubernetes, made)
        single += self._single(checksums.images(labels))
        single += self._single(licences.part([made[part.name] for part in programs], debian))
        placed += [*single, *self._single(checksums.part(sums(single), self.signer))]
        placed.append(self._place("bin/mirror", made["mirror"], "mirror", "distribution"))
        packages = dict.fromkeys(package for one in debian for package in userland.packages(one))
        return Composed(placed + blobs, layout, labels, list(packages))

    def _apt(self, kubernetes: tuple[str, ...], made: dict[str, Made]) -> Iterable[Placed]:
        v = self.versions
        shared = [
            debs.cri_tools(v["crictl"], made["crictl"]),
            debs.kubernetes_cni(v["cni-plugins"], made["cni-plugins"]),
        ]
        recipes = [
            recipe for version in kubernetes for recipe in debs.kubernetes(version, made[f"kubernetes-{version}"])
        ]
        containerd = {
            (system, codename): debs.containerd(v["containerd"], release, made["containerd"], made["runc"])
            for system, codenames in RELEASES.items()
            for codename, release in codenames.items()
        }
        packed = self._all(
            [debs.part(recipe, self.architecture) for recipe in [*recipes, *shared, *containerd.values()]]
        )
        repositories: dict[str, Part] = {}
        for wanted in sorted({minor(version) for version in kubernetes}):
            ours = [recipe for recipe in recipes if minor(recipe.version) == wanted] + shared
            host = f"files/pkgs.k8s.io/core:/stable:/v{wanted}/deb"
            repositories[host] = apt.flat(
                f"apt-kubernetes-{wanted}", [packed[f"deb-{recipe.file}"] for recipe in ours], self.signer
            )
        for system, codenames in RELEASES.items():
            pools = {codename: [packed[f"deb-{containerd[system, codename].file}"]] for codename in codenames}
            repositories[f"files/download.docker.com/linux/{system}"] = apt.dists(
                f"apt-containerd-{system}", pools, self.architecture, self.signer
            )
        signed = self._all(repositories.values())
        components = {"cri-tools": "crictl", "kubernetes-cni": "cni-plugins", "containerd.io": "containerd"}
        for below, part in repositories.items():
            for path in signed[part.name].files:
                if path.endswith(".deb"):
                    name, version, _ = Path(path).name.split("_")
                    component = components.get(name, "kubernetes")
                    yield self._place(f"{below}/{path}", signed[part.name], path, component, name, version, debs.NOTE)
                else:
                    yield self._own(f"{below}/{path}", signed[part.name], path)

    def _nvidia_apt(self, made: dict[str, Made]) -> Iterable[Placed]:
        wanted = driver_debs.repositories(self.versions, made, self.architecture)
        recipes = {recipe.file: recipe for repository in wanted for recipe in repository.recipes}
        packed = self._all([debs.part(recipe, self.architecture) for recipe in recipes.values()])
        parts = {
            repository.below: apt.flat(
                "apt-" + repository.below.removeprefix("files/").replace("/", "_"),
                [packed[f"deb-{recipe.file}"] for recipe in repository.recipes],
                self.signer,
            )
            for repository in wanted
        }
        signed = self._all(parts.values())
        for repository in wanted:
            index = signed[parts[repository.below].name]
            for path in index.files:
                if path.endswith(".deb"):
                    name, version, _ = Path(path).name.split("_")
                    note = recipes[f"{name}_{version}"].note
                    place = f"{repository.below}/{path}"
                    part = driver_debs.component(name, repository.component)
                    yield self._place(place, index, path, part, name, version, note)
                else:
                    place = repository.key if path == apt.KEY else f"{repository.below}/{path}"
                    yield self._own(place, index, path)

    def _files(self, made: dict[str, Made]) -> Iterable[Placed]:
        """Adds the manifests to MADE, for they name images."""
        v = self.versions
        archive = files.helm(v["helm"], made["helm"], self.architecture)
        made |= self._all([archive, *(files.manifest(component, v) for component in v.raw["manifests"])])
        for path in made["helm-archive"].files:
            yield self._place(f"files/get.helm.sh/{path}", made["helm-archive"], path, "helm", note=debs.NOTE)
        for component in v.raw["manifests"]:
            (path,) = made[f"{component}-manifest"].files
            yield self._place(_official(v.manifest(component)), made[f"{component}-manifest"], path, component)

    def _charts(self, made: dict[str, Made]) -> Iterable[Placed]:
        v, generator = self.versions, made["controller-tools"]
        definitions = [crds.prometheus(generator, v["prometheus-operator"]), crds.nfd(v)]
        if "keda" in made:
            definitions.append(crds.keda(generator, v["keda"]))
        wanted = charts.parts(v, self._all(definitions), self.without)
        packed = self._all(wanted.values())
        for name, part in wanted.items():
            (path,) = packed[part.name].files
            chart = packed[part.name]
            yield Placed(
                _official(v.chart(name)),
                chart[path],
                chart.files[path],
                name,
                v.raw["charts"][name]["version"],
                "gpustack",
                "Apache-2.0",
                charts.NOTE,
            )

    def _single(self, part: Part) -> list[Placed]:
        made = self._all([part])[part.name]
        return [self._own(f"files/{path}", made, path, part.name) for path in made.files]

    def _images(
        self, kubernetes: tuple[str, ...], made: dict[str, Made]
    ) -> tuple[dict[str, dict[str, object]], list[Image], list[Placed]]:
        recipes: dict[str, images.Recipe] = {}
        for version in kubernetes:
            recipes |= {recipe.reference: recipe for recipe in images.kubernetes(version, self.versions, made)}
        v = self.versions
        others = [
            *images.flannel(made["flannel-manifest"]["kube-flannel.yml"], made),
            images.busybox(v["busybox"], made),
            *monitoring_images.monitoring(v, made),
            *monitoring_images.provisioner(made["local-path-provisioner-manifest"]["local-path-storage.yaml"], made),
            *(monitoring_images.keda(v, made) if "keda" in made else ()),
            *gpu_images.gpu(v, made),
            *simulated_images.simulated(v, made),
            product.image(made),
        ]
        recipes |= {recipe.reference: recipe for recipe in others}
        parts = {
            reference: images.part(recipe, self.versions, self.architecture) for reference, recipe in recipes.items()
        }
        built = self._all(parts.values())
        layout, labels, blobs = {}, [], {}
        for reference, recipe in sorted(recipes.items()):
            image = built[parts[reference].name]
            layout[reference] = json.loads(image["descriptor.json"].read_text())
            labels.append(Image(reference, layout[reference]["digest"], recipe.differs))
            for path in image.files:
                if path.startswith("blobs/"):
                    blobs[path] = self._place(f"images/{path}", image, path, recipe.component, note=reference)
        return layout, labels, list(blobs.values())

    def _all(self, parts: Iterable[Part]) -> dict[str, Made]:
        """Makes parts, two at a time. If one fails or we are interrupted, what still runs is ended."""
        with ThreadPoolExecutor(TOGETHER) as pool:
            waiting = {part.name: pool.submit(self.cache.get, part, self.report) for part in parts}
            try:
                done, _ = wait(waiting.values(), return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                return {name: future.result() for name, future in waiting.items()}
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                while any(future.running() for future in waiting.values()):
                    programs.end_all()
                    time.sleep(0.1)
                raise

    def _place(
        self, path: str, made: Made, file: str, component: str, name: str = "", version: str = "", note: str = ""
    ) -> Placed:
        v = self.versions
        return Placed(
            path,
            made[file],
            made.files[file],
            name or component,
            version or v[component],
            v.origin(component),
            v.licence(component),
            note,
        )

    def _own(self, path: str, made: Made, file: str, name: str = "apt index") -> Placed:
        return Placed(path, made[file], made.files[file], name, self.versions.set, "gpustack", "Apache-2.0")


def sums(files: Iterable[Placed]) -> dict[str, str]:
    """SHA-256 by the path below files/."""
    return {placed.path.removeprefix("files/"): placed.sha256 for placed in files}


def _official(url: str) -> str:
    """Where the file of an official address lies in the bundle."""
    return "files/" + url.removeprefix("https://")
