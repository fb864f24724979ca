"""What stands between a registry and this host's images: our list, the program that compares, how containerd pulls."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.config.images import LIST, VERIFIER
from gpustack.probes.containerd.daemon import SOCKET


@dataclass(frozen=True)
class Images:
    """SHA-256 of the list and of the verifier, empty where there is none; `mode` of the verifier, as `755 root`.
    `settings` are containerd's on pulling, by key, empty without containerd: `bin_dir` of verifiers, those of CRI's
    images, and a table `registry.*` that would change the way of a pull. `others` are listed images that are here with
    another digest."""

    list: str
    verifier: str
    mode: str
    settings: Mapping[str, str]
    others: tuple[str, ...]


def images(answer: Answer) -> Images:
    """Raises ValueError for a line that is none of these."""
    found = {"list": "", "verifier": "", "mode": ""}
    settings: dict[str, str] = {}
    others = []
    for line in answer.out.splitlines():
        match line.split(" "):
            case ["list", digest]:
                found["list"] = digest
            case ["verifier", digest, *mode]:
                found |= {"verifier": digest, "mode": " ".join(mode)}
            case ["setting", key, value]:
                settings[key] = value
            case ["other", name]:
                others.append(name)
            case _:
                raise ValueError(line)
    return Images(**found, settings=settings, others=tuple(others))


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
found=$(ctr --timeout "$((4 * ${{TIMEOUT_FACTOR:-1}}))s" --namespace k8s.io images list) || exit
printf '%s\n' "$found" | awk 'NR == FNR {{ wanted[$1] = $2; next }}
  $1 in wanted && wanted[$1] != $3 {{ print "other", $1 }}' {LIST} -"""),
    images,
    limit=10,
    like="containerd config dump; ctr -n k8s.io images list",
)
