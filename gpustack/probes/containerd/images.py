"""Checks of containerd between a registry and this host's images: the list, the program that compares, and how
containerd pulls."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.containerd.daemon import SOCKET

LIST = "/etc/gpustack-cluster/images"
VERIFIERS = "/opt/containerd/image-verifier/bin"  # where containerd looks, by its docs/image-verification.md
VERIFIER = f"{VERIFIERS}/gpustack"


@dataclass(frozen=True)
class Images:
    """Hold the state of the image verifier.

    `list` and `verifier` are the SHA-256 of these files, empty where one is missing; `mode` is the verifier's, as `755
    root`. `settings` are containerd's on pulling, by key, empty without containerd: `bin_dir` of verifiers, those of
    CRI's images, and a table `registry.*` that would change the way of a pull. `mismatched_images` are listed images
    that the host has with another digest.
    """

    list: str
    verifier: str
    mode: str
    settings: Mapping[str, str]
    mismatched_images: tuple[str, ...]


def parse_images(answer: Answer) -> Images:
    """Parse the state of the image verifier. Raise ValueError where a line has another shape."""
    properties = {"list": "", "verifier": "", "mode": ""}
    settings: dict[str, str] = {}
    mismatched_images = []
    for line in answer.stdout.splitlines():
        match line.split(" "):
            case ["list", digest]:
                properties["list"] = digest
            case ["verifier", digest, *mode]:
                properties |= {"verifier": digest, "mode": " ".join(mode)}
            case ["setting", key, value]:
                settings[key] = value
            case ["other", name]:
                mismatched_images.append(name)
            case _:
                raise ValueError(line)
    return Images(**properties, settings=settings, mismatched_images=tuple(mismatched_images))


# The whole configuration has logins of registries: only switches and numbers leave the host.
IMAGES = Probe(
    "containerd.images",
    Lines(rf"""set --
for file in {LIST} {VERIFIER}; do
  [ ! -e "$file" ] || set -- "$@" "$file"
done
[ $# -eq 0 ] || sha256sum "$@" | while read -r sum file; do
  case $file in
    {LIST}) echo "list $sum" ;;
    *) echo "verifier $sum $(stat -c '%a %U' "$file")" ;;
  esac
done
command -v containerd >/dev/null || exit 0
config=$(containerd config dump 2>/dev/null) || {{
  containerd config dump 2>&1 >/dev/null | tail -n 1 >&2
  exit 1
}}
printf '%s\n' "$config" | awk '/^ *\[/ {{ table = $1 }}
  table ~ /image-verifier\.v1\.bindir.\]$/ && $1 == "bin_dir" {{ gsub(/[\047"]/, "", $3); print "setting", $1, $3 }}
  table ~ /cri\.v1\.images.\]$/ && $3 ~ /^(true|false|[0-9]+)$/ {{ print "setting", $1, $3 }}
  /^ *\[.*cri\.v1\.images.\.registry\.(mirrors|configs|auths)\./ {{ print "setting", "registry", "other" }}'
[ -S {SOCKET.removeprefix("unix://")} ] && [ -e {LIST} ] || exit 0
# ctr reads the size of each image, so the names that the runtime adds by digest are left out.
images=$(ctr --timeout "$((4 * ${{TIMEOUT_FACTOR:-1}}))s" --namespace k8s.io images list 'name~="^[^@]+/"') || exit
printf '%s\n' "$images" | awk 'NR == FNR {{ wanted[$1] = $2; next }}
  $1 in wanted && wanted[$1] != $3 {{ print "other", $1 }}' {LIST} -"""),
    parse_images,
    limit=10,
    manual_command="containerd config dump; ctr -n k8s.io images list",
)
