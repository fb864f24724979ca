"""Probes of containerd: the answers of the running daemon, and the files that it reads at its next start."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Lines, Probe, Shell
from gpustack.files.json_text import dump_json, load_json
from gpustack.probes.containerd.toml_keys import FUNCTION
from gpustack.probes.host.units import build_units_script, is_unsettled
from gpustack.probes.parsing import parse_integer, parse_yaml_mapping
from gpustack.probes.sections import index_sections, split_sections

SOCKET = "unix:///run/containerd/containerd.sock"
NO_CRI_MESSAGE = "code = Unimplemented"
"""The message of crictl for a daemon that answers and has no CRI."""
MANAGED_HEADER = "# Written by gpustack; a change here is undone by the next install."
FOLDER = "/etc/containerd/"
DROP_IN = "conf.d/gpustack.toml"
OPTIONS = ("SystemdCgroup", "BinaryName")
REGISTRIES = ("docker.io", "ghcr.io", "nvcr.io", "quay.io", "registry.k8s.io")


@dataclass(frozen=True)
class Runtime:
    """Hold the settings of the running daemon as CRI v1 shows them. `nvidia` is the program of its runtime of that
    name, empty for none."""

    systemd_cgroup: bool
    bin_dirs: tuple[str, ...]
    restrict_oom_score_adj: bool
    nvidia: str


@dataclass(frozen=True)
class Mirror:
    """Hold a hosts.toml: whether gpustack manages it, the server that is asked last, and the hosts that are asked
    before it.

    `login` is `same` or `other`, compared with that of the spec on the host, with the file's mode, and empty without a
    login.
    """

    is_managed: bool
    server: str
    hosts: tuple[str, ...]
    login: str = ""


@dataclass(frozen=True)
class Configuration:
    """Hold config.toml and the files of conf.d.

    `drop_in` is gpustack's file, parsed, or None where it is missing. `disabled_plugins` are plugins by the file that
    disables them; `parse_errors` are the reasons why files are not TOML; `newest` is when the last file was written, in
    seconds of the epoch, 0 without any. `systemd` says, for each file that sets it and in the order of reading, whether
    runc leaves cgroups to systemd. `version` is that of config.toml, 0 where it declares none; `versioned_names` are
    its tables and names of plugins, which another version would read differently.
    """

    imports: tuple[str, ...]
    disabled_plugins: Mapping[str, tuple[str, ...]]
    drop_in: Mapping[str, Any] | None
    parse_errors: Mapping[str, str]
    newest: int
    systemd: Mapping[str, bool]
    version: int
    versioned_names: tuple[str, ...]

    @property
    def last_without_systemd(self) -> str:
        """The last file that sets the cgroup driver, where that is another's file and sets no systemd; empty for
        none."""
        last = next(reversed(list(self.systemd)), "")
        return last if last and last != DROP_IN and not self.systemd[last] else ""


def parse_runtime(answer: Answer) -> Runtime | None:
    """Parse the settings of the running daemon, or None where no daemon answers CRI v1.

    Raise KeyError where `info` has another shape, and ValueError while the daemon restarts: a daemon that serves no CRI
    says so.
    """
    if answer.rc != 0:
        if answer.stdout and NO_CRI_MESSAGE not in answer.stderr and is_unsettled(answer.stdout):
            raise ValueError("just being started or stopped")
        return None
    config = load_json(answer.stdout)["config"]
    cni, runtimes = config["cni"], config["containerd"]["runtimes"]
    runc, nvidia = runtimes["runc"], runtimes.get("nvidia", {})
    # containerd 2.1 names a list beside the older single directory.
    dirs = cni.get("binDirs") or [cni["binDir"]]
    return Runtime(
        runc["options"].get("SystemdCgroup", False) is True,
        tuple(dirs),
        config.get("restrictOOMScoreAdj", False) is True,
        (nvidia.get("options") or {}).get("BinaryName", ""),
    )


def prune_runtime(text: str) -> str:
    """Keep the part of `crictl info` that `parse_runtime` reads. The rest has the logins of registries."""
    config = load_json(text)["config"]
    runtimes = {
        name: {"options": pick_keys(config["containerd"]["runtimes"][name].get("options") or {}, OPTIONS)}
        for name in ("runc", "nvidia")
        if name in config["containerd"]["runtimes"]
    }
    cni = pick_keys(config["cni"], ("binDir", "binDirs"))
    settings = {"cni": cni, "containerd": {"runtimes": runtimes}, **pick_keys(config, ("restrictOOMScoreAdj",))}
    return dump_json({"config": settings}, indent=2) + "\n"


def pick_keys(table: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: table[key] for key in keys if key in table}


# Without its socket there is no daemon, and no crictl is needed to see that.
RUNTIME = Probe(
    "containerd.runtime",
    Shell(f"""[ -S {SOCKET.removeprefix("unix://")} ] || exit 1
crictl --runtime-endpoint {SOCKET} info && exit
rc=$?
({build_units_script("containerd")}
)
exit $rc"""),
    parse_runtime,
    exit_codes=(0, 1),
    manual_command="crictl info",
    pruner=prune_runtime,
)


def parse_configuration(answer: Answer) -> Configuration:
    files: dict[str, dict[str, Any]] = {}
    parse_errors: dict[str, str] = {}
    times = [0]
    for title, lines in index_sections(split_sections(answer.stdout)).items():
        name, time = title.rsplit(" ", 1)
        times.append(parse_integer(time))
        try:
            files[name] = tomllib.loads("\n".join(lines))
        except tomllib.TOMLDecodeError as error:
            parse_errors[name] = str(error)
    plugins = {name: table.get("disabled_plugins") for name, table in files.items()}
    disabled_plugins = {name: tuple(file_plugins) for name, file_plugins in plugins.items() if file_plugins}
    root = files.get("config.toml", {})
    systemd = {name: value for name, table in files.items() if isinstance(value := find_cgroup_setting(table), bool)}
    return Configuration(
        imports=tuple(root.get("imports", ())),
        disabled_plugins=disabled_plugins,
        drop_in=files.get(DROP_IN),
        parse_errors=parse_errors,
        newest=max(times),
        systemd=systemd,
        version=int(root.get("version", 0)),
        versioned_names=tuple(list_versioned_names(root)),
    )


def list_versioned_names(document: Mapping[str, Any]) -> Iterator[str]:
    """List what a file says in words of its version: tables of plugins, and short names (`zfs`), which version 1 alone
    has. That CRI is disabled does not count, since the role takes that out."""
    if "plugins" in document:
        yield from (f"plugins.{name}" for name in document["plugins"] or ("",))
    for key, passed_names in (("disabled_plugins", {"cri"}), ("required_plugins", set())):
        yield from (f"{key}: {name}" for name in document.get(key, ()) if "." not in name and name not in passed_names)


def find_cgroup_setting(document: Mapping[str, Any]) -> Any:
    """Find runc's SystemdCgroup in a file, in the table of version 3."""
    table: Any = document
    for key in (
        "plugins",
        "io.containerd.cri.v1.runtime",
        "containerd",
        "runtimes",
        "runc",
        "options",
        "SystemdCgroup",
    ):
        table = table.get(key) if isinstance(table, Mapping) else None
    return table


def parse_mirrors(answer: Answer) -> Mapping[str, Mirror]:
    """Parse the mirrors by registry."""
    return {name: parse_mirror(lines) for name, lines in index_sections(split_sections(answer.stdout)).items()}


def parse_mirror(lines: list[str]) -> Mirror:
    is_managed = lines[:1] == [MANAGED_HEADER]
    try:
        document = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return Mirror(is_managed, "(the file is not TOML)", ())
    hosts: dict[str, Any] = document.get("host", {})
    headers = (host.get("header", {}) for host in hosts.values() if isinstance(host, dict))
    logins = {str(header["Authorization"]) for header in headers if "Authorization" in header}
    return Mirror(is_managed, str(document.get("server", "")), tuple(hosts), ", ".join(sorted(logins)))


CONFIGURATION = Probe(
    "containerd.configuration",
    Lines(
        FUNCTION
        + r"""cd /etc/containerd 2>/dev/null || exit 0
set --
for file in config.toml conf.d/*.toml; do
  [ ! -e "$file" ] || set -- "$@" "$file"
done
[ $# -gt 0 ] || exit 0
times=$(stat -Lc '%Y %n' "$@") || exit
set --
while read -r time file; do
  set -- "$@" "$file $time" "$file"
done <<TIMES
$times
TIMES
toml_keys 'version|imports|(disabled|required)_plugins|config_path|bin_dirs?' "$@" """
    ),
    parse_configuration,
    manual_command="cat /etc/containerd/config.toml /etc/containerd/conf.d/*.toml",
)
# What is said as Authorization never leaves the host, in foreign files neither, nor does any other header.
MIRRORS = Probe(
    "containerd.mirrors",
    Lines(
        FUNCTION
        + r"""cd /etc/containerd/certs.d 2>/dev/null || exit 0
set --
for file in */hosts.toml; do
  [ ! -e "$file" ] || set -- "$@" "$file"
done
[ $# -gt 0 ] || exit 0
secret=$(grep -li authorization "$@")
for file; do
  shift
  case "
$secret
" in
  *"
$file
"*)
    login=$(sed -n 's/^ *Authorization = "\(.*\)"$/\1/p' "$file")
    login_sum=$(printf '%s%s' "$SALT" "$login" | sha256sum)
    [ "${login_sum%% *}" = "$MIRROR_LOGIN" ] && is=same || is=other
    value="(\"[^\"]*\"|'[^']*'|\[[^]]*])" mode=$(stat -c %04a "$file")
    sed -E "s/(authorization['\"]?[[:space:]]*=[[:space:]]*)$value/\1\"$is, mode $mode\"/Ig" "$file" |
      toml_keys 'server|capabilities' "${file%/hosts.toml}" /dev/stdin ;;
  *) set -- "$@" "${file%/hosts.toml}" "$file" ;;
  esac
done
[ $# -eq 0 ] || toml_keys 'server|capabilities' "$@" """
    ),
    parse_mirrors,
    manual_command="cat /etc/containerd/certs.d/*/hosts.toml",
)


def parse_crictl_config(answer: Answer) -> Mapping[str, str]:
    """Parse /etc/crictl.yaml, empty where it is missing. Raise ValueError where it is no mapping."""
    document = parse_yaml_mapping(answer.stdout) if answer.stdout.strip() else {}
    return {str(key): str(value) for key, value in document.items()}


# Comments and whatever crictl does not know stay on the host; a line that is no setting leaves the file no mapping.
CRICTL = Probe(
    "containerd.crictl",
    Lines(
        r"""[ ! -e /etc/crictl.yaml ] || awk '
  { sub(/\r$/, "") }
  /^[ \t]*(#|$)/ || /^---[ \t]*$/ { next }
  /^["\047]?(runtime-endpoint|image-endpoint|timeout|debug|pull-image-on-create|disable-pull-on-run)["\047]?[ \t]*:/ {
    sub(/[ \t]+#.*$/, "")
    print
    next
  }
  /^["\047]?[A-Za-z][A-Za-z-]*["\047]?[ \t]*:([ \t]|$)/ { sub(/:.*/, ": REDACTED"); print; next }
  { print "- REDACTED" }' /etc/crictl.yaml"""
    ),
    parse_crictl_config,
    manual_command="cat /etc/crictl.yaml",
)
