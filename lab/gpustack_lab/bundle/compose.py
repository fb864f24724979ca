"""The parts of a bundle in the order of their building, and the place of each of their files.

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

from gpustack.bundle import programs
from gpustack.bundle.manifest import Image
from gpustack.config.versions import parse_minor
from gpustack.events import Event, Reporter
from gpustack_lab.bundle import (
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
    simulated_images,
    userland,
)
from gpustack_lab.bundle.cache import BuiltPart, Cache, Part
from gpustack_lab.bundle.progress import Progress
from gpustack_lab.bundle.signing import Signer
from gpustack_lab.bundle.versions import Versions

PARALLEL_PARTS = 2  # parts built at the same time; a Go compile uses several cores by itself
# Ubuntu's are for lab hosts that have its os-release: gpustack_lab/lab/releases.py.
RELEASES = {
    "debian": {"bookworm": "debian.12~bookworm", "trixie": "debian.13~trixie"},
    "ubuntu": {"jammy": "ubuntu.22.04~jammy", "resolute": "ubuntu.26.04~resolute"},
}


@dataclass(frozen=True)
class PlacedFile:
    """Describe a file of a part, and its `path` in the bundle."""

    path: str
    source: Path
    sha256: str
    name: str
    version: str
    origin: str
    licence: str
    note: str = ""


@dataclass(frozen=True)
class Composition:
    """Describe the content of a bundle: its files, the descriptors of its images by reference, their labels, and the
    Debian packages inside images."""

    files: list[PlacedFile]
    images: dict[str, dict[str, object]]
    labels: list[Image]
    debian: list[userland.Package]


class Composer:
    def __init__(
        self, cache: Cache, versions: Versions, architecture: str, signer: Signer, report: Reporter, *, keda: bool
    ) -> None:
        self.cache, self.versions, self.architecture, self.signer = cache, versions, architecture, signer
        self.excluded_names = () if keda else ("keda",)
        lock = threading.Lock()

        def report_locked(event: Event) -> None:
            with lock:
                report(event)

        self.report = report_locked

    def compose(self, kubernetes: tuple[str, ...]) -> Composition:
        module_parts = modules.declare_parts(self.versions, kubernetes)
        compiled_parts = [part for part in module_parts if part.name not in self.excluded_names]
        program_parts = [*compiled_parts, modules.declare_pause(), simulated_images.declare_part()]
        program_parts.append(driver_debs.declare_part(self.versions["nvidia-driver"]))
        other_parts = [userland.declare_part(), product.declare_python(), product.declare_product()]
        missing_parts = [part for part in program_parts if not self.cache.find_part(part)]
        progress = Progress(missing_parts, PARALLEL_PARTS, self.report)
        # The others wait for the network; Kubernetes, the longest, keeps the processors busy meanwhile.
        built_parts = self._build_parts([program_parts[0], *other_parts, *program_parts[1:]], progress.report_event)
        debian = [built_parts["userland"], built_parts["python"]]
        single_files = [*self._place_downloads(built_parts), *self._place_charts(built_parts)]
        placed_files = list(self._place_kubernetes_packages(kubernetes, built_parts))
        placed_files += self._place_nvidia_packages(built_parts)
        layout, labels, blobs = self._build_images(kubernetes, built_parts)
        single_files += self._place_part(checksums.declare_image_list(labels))
        built_programs = [built_parts[part.name] for part in program_parts]
        single_files += self._place_part(licences.declare_part(built_programs, debian))
        checksum_part = checksums.declare_part(collect_checksums(single_files), self.signer)
        placed_files += [*single_files, *self._place_part(checksum_part)]
        placed_files.append(self._place_file("bin/mirror", built_parts["mirror"], "mirror", "distribution"))
        packages = dict.fromkeys(package for package_part in debian for package in userland.read_packages(package_part))
        return Composition(placed_files + blobs, layout, labels, list(packages))

    def _place_kubernetes_packages(
        self, kubernetes: tuple[str, ...], built_parts: dict[str, BuiltPart]
    ) -> Iterable[PlacedFile]:
        v = self.versions
        cri_tools = debs.build_cri_tools_recipe(v["crictl"], built_parts["crictl"])
        common_recipes = [cri_tools, debs.build_cni_recipe(v["cni-plugins"], built_parts["cni-plugins"])]
        recipes = [
            recipe
            for version in kubernetes
            for recipe in debs.build_kubernetes_recipes(version, built_parts[f"kubernetes-{version}"])
        ]
        containerd = {
            (system, codename): debs.build_containerd_recipe(
                v["containerd"], release, built_parts["containerd"], built_parts["runc"]
            )
            for system, codenames in RELEASES.items()
            for codename, release in codenames.items()
        }
        all_recipes = [*recipes, *common_recipes, *containerd.values()]
        debs_by_name = self._build_parts([debs.declare_part(recipe, self.architecture) for recipe in all_recipes])
        repositories: dict[str, Part] = {}
        for kubernetes_minor in sorted({parse_minor(version) for version in kubernetes}):
            minor_recipes = [recipe for recipe in recipes if parse_minor(recipe.version) == kubernetes_minor]
            host = f"files/pkgs.k8s.io/core:/stable:/v{kubernetes_minor}/deb"
            repositories[host] = apt.declare_flat_repository(
                f"apt-kubernetes-{kubernetes_minor}",
                [debs_by_name[f"deb-{recipe.file}"] for recipe in [*minor_recipes, *common_recipes]],
                self.signer,
            )
        for system, codenames in RELEASES.items():
            pools = {codename: [debs_by_name[f"deb-{containerd[system, codename].file}"]] for codename in codenames}
            repositories[f"files/download.docker.com/linux/{system}"] = apt.declare_dists_repository(
                f"apt-containerd-{system}", pools, self.architecture, self.signer
            )
        indexes = self._build_parts(repositories.values())
        components = {"cri-tools": "crictl", "kubernetes-cni": "cni-plugins", "containerd.io": "containerd"}
        for directory, part in repositories.items():
            for path in indexes[part.name].files:
                if path.endswith(".deb"):
                    name, version, _ = Path(path).name.split("_")
                    component, place = components.get(name, "kubernetes"), f"{directory}/{path}"
                    yield self._place_file(place, indexes[part.name], path, component, name, version, debs.NOTE)
                else:
                    yield self._place_own_file(f"{directory}/{path}", indexes[part.name], path)

    def _place_nvidia_packages(self, built_parts: dict[str, BuiltPart]) -> Iterable[PlacedFile]:
        flat_repositories = driver_debs.build_repositories(self.versions, built_parts, self.architecture)
        recipes = {recipe.file: recipe for repository in flat_repositories for recipe in repository.recipes}
        debs_by_name = self._build_parts([debs.declare_part(recipe, self.architecture) for recipe in recipes.values()])
        parts = {
            repository.path: apt.declare_flat_repository(
                "apt-" + repository.path.removeprefix("files/").replace("/", "_"),
                [debs_by_name[f"deb-{recipe.file}"] for recipe in repository.recipes],
                self.signer,
            )
            for repository in flat_repositories
        }
        indexes = self._build_parts(parts.values())
        for repository in flat_repositories:
            index = indexes[parts[repository.path].name]
            for path in index.files:
                if path.endswith(".deb"):
                    name, version, _ = Path(path).name.split("_")
                    note = recipes[f"{name}_{version}"].note
                    place = f"{repository.path}/{path}"
                    part = driver_debs.select_component(name, repository.component)
                    yield self._place_file(place, index, path, part, name, version, note)
                else:
                    place = repository.key if path == apt.KEY else f"{repository.path}/{path}"
                    yield self._place_own_file(place, index, path)

    def _place_downloads(self, built_parts: dict[str, BuiltPart]) -> Iterable[PlacedFile]:
        """Place the archive of Helm and the manifests. Add the manifests to `built_parts`, since they name images."""
        v = self.versions
        archive = files.declare_helm_archive(v["helm"], built_parts["helm"], self.architecture)
        manifests = [files.declare_manifest(component, v) for component in v.raw["manifests"]]
        built_parts |= self._build_parts([archive, *manifests])
        helm = built_parts["helm-archive"]
        for path in helm.files:
            yield self._place_file(f"files/get.helm.sh/{path}", helm, path, "helm", note=debs.NOTE)
        for component in v.raw["manifests"]:
            manifest = built_parts[f"{component}-manifest"]
            (path,) = manifest.files
            yield self._place_file(_locate_url(v.build_manifest_url(component)), manifest, path, component)

    def _place_charts(self, built_parts: dict[str, BuiltPart]) -> Iterable[PlacedFile]:
        v, generator = self.versions, built_parts["controller-tools"]
        definitions = [crds.declare_prometheus_crds(generator, v["prometheus-operator"]), crds.declare_nfd_crds(v)]
        if "keda" in built_parts:
            definitions.append(crds.declare_keda_crds(generator, v["keda"]))
        chart_parts = charts.declare_parts(v, self._build_parts(definitions), self.excluded_names)
        built_charts = self._build_parts(chart_parts.values())
        for name, part in chart_parts.items():
            (path,) = built_charts[part.name].files
            chart = built_charts[part.name]
            yield PlacedFile(
                _locate_url(v.build_chart_url(name)),
                chart[path],
                chart.files[path],
                name,
                v.raw["charts"][name]["version"],
                "gpustack",
                "Apache-2.0",
                charts.NOTE,
            )

    def _place_part(self, part: Part) -> list[PlacedFile]:
        built_part = self._build_parts([part])[part.name]
        return [self._place_own_file(f"files/{path}", built_part, path, part.name) for path in built_part.files]

    def _build_images(
        self, kubernetes: tuple[str, ...], built_parts: dict[str, BuiltPart]
    ) -> tuple[dict[str, dict[str, object]], list[Image], list[PlacedFile]]:
        v = self.versions
        recipes: dict[str, images.Recipe] = {}
        for version in kubernetes:
            version_recipes = images.build_kubernetes_recipes(version, v, built_parts)
            recipes |= {recipe.reference: recipe for recipe in version_recipes}
        other_recipes = [
            *images.build_flannel_recipes(built_parts["flannel-manifest"]["kube-flannel.yml"], built_parts),
            images.build_busybox_recipe(v["busybox"], built_parts),
            *monitoring_images.build_monitoring_recipes(v, built_parts),
            *monitoring_images.build_provisioner_recipes(
                built_parts["local-path-provisioner-manifest"]["local-path-storage.yaml"], built_parts
            ),
            *(monitoring_images.build_keda_recipes(v, built_parts) if "keda" in built_parts else ()),
            *gpu_images.build_gpu_recipes(v, built_parts),
            *simulated_images.build_simulated_recipes(v, built_parts),
            product.build_serve_recipe(built_parts),
        ]
        recipes |= {recipe.reference: recipe for recipe in other_recipes}
        parts = {ref: images.declare_part(recipe, v, self.architecture) for ref, recipe in recipes.items()}
        built_images = self._build_parts(parts.values())
        layout, labels, blobs = {}, [], {}
        for reference, recipe in sorted(recipes.items()):
            image = built_images[parts[reference].name]
            layout[reference] = json.loads(image["descriptor.json"].read_text())
            labels.append(Image(reference, layout[reference]["digest"], recipe.differs))
            for path in image.files:
                if path.startswith("blobs/"):
                    blobs[path] = self._place_file(f"images/{path}", image, path, recipe.component, note=reference)
        return layout, labels, list(blobs.values())

    def _build_parts(self, parts: Iterable[Part], report: Reporter | None = None) -> dict[str, BuiltPart]:
        """Build parts, two at a time. If one fails or the build is interrupted, the others are stopped."""
        with ThreadPoolExecutor(PARALLEL_PARTS) as pool:
            waiting = {part.name: pool.submit(self.cache.ensure_part, part, report or self.report) for part in parts}
            try:
                finished_futures, _ = wait(waiting.values(), return_when=FIRST_EXCEPTION)
                for future in finished_futures:
                    future.result()
                return {name: future.result() for name, future in waiting.items()}
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                while any(future.running() for future in waiting.values()):
                    programs.end_all()
                    time.sleep(0.1)
                raise

    def _place_file(
        self,
        path: str,
        built_part: BuiltPart,
        file: str,
        component: str,
        name: str = "",
        version: str = "",
        note: str = "",
    ) -> PlacedFile:
        v = self.versions
        content = built_part[file], built_part.files[file]
        origin, licence = v.select_origin(component), v.select_licence(component)
        return PlacedFile(path, *content, name or component, version or v[component], origin, licence, note)

    def _place_own_file(self, path: str, built_part: BuiltPart, file: str, name: str = "apt index") -> PlacedFile:
        return PlacedFile(
            path, built_part[file], built_part.files[file], name, self.versions.set, "gpustack", "Apache-2.0"
        )


def collect_checksums(files: Iterable[PlacedFile]) -> dict[str, str]:
    """Collect the SHA-256 of files by their path below files/."""
    return {file.path.removeprefix("files/"): file.sha256 for file in files}


def _locate_url(url: str) -> str:
    """Return the path in the bundle of the file with an official address."""
    return "files/" + url.removeprefix("https://")
