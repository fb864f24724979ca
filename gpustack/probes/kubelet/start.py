"""How the kubelet's unit is, what it said when it last gave up, which certificate it shows, and until when."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.sections import read_sections


@dataclass(frozen=True)
class Start:
    """systemd's words for the unit; `message` is its last line about giving up, empty for none; `files` are those that
    name the flag it does not know; `configured`: there is a configuration to start with."""

    active: str
    result: str
    file: str
    message: str
    files: tuple[str, ...]
    configured: bool

    @property
    def unknown_flag(self) -> str:
        found = re.search(r"unknown flag: (--[a-zA-Z0-9-]+)", self.message)
        return found[1] if found else ""


@dataclass(frozen=True)
class Shown:
    """Where the certificate lies, and its last moment."""

    place: str
    ends: datetime


def start(answer: Answer) -> Start | None:
    """None where the kubelet is not installed."""
    unit, messages, files, config = read_sections(answer.out, "unit", "said", "files", "config")
    words = dict(line.split("=", 1) for line in unit)
    if words["LoadState"] == "not-found":
        return None
    if not all(line.startswith("| ") for line in messages) or not all(line.startswith("/") for line in files):
        raise ValueError(answer.out)
    line = messages[-1].removeprefix("| ") if messages else ""
    there = {"yes": True, "no": False}[config[0]]
    return Start(words["ActiveState"], words["Result"], words["UnitFileState"], line, tuple(files), there)


def read_start(answer: Answer) -> Shown | None:
    """None where the kubelet has no credentials."""
    if not answer.out:
        return None
    place, end = answer.out.splitlines()
    moment = datetime.strptime(end.removeprefix("notAfter="), "%b %d %H:%M:%S %Y GMT").replace(tzinfo=UTC)
    return Shown(place.removeprefix("in "), moment)


START = Probe(
    "kubelet.start",
    Lines(r"""echo '== unit'
systemctl show kubelet -p LoadState,ActiveState,Result,UnitFileState || exit
echo '== said'
output=$(journalctl -u kubelet -n 200 -o cat --no-pager 2>/dev/null |
  awk '/"command failed"|[Ff]ailed to (run|load) [Kk]ubelet|unknown flag/ {line = $0} END {print substr(line, 1, 500)}')
[ -z "$output" ] || echo "| $output"
echo '== files'
flag=
case $output in
  *'unknown flag: --'*) flag=$(echo "$output" | sed -nE 's/.*unknown flag: (--[a-zA-Z0-9-]+).*/\1/p') ;;
esac
[ -z "$flag" ] || grep -ls -- "$flag" /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet /etc/sysconfig/kubelet \
  /etc/systemd/system/kubelet.service /etc/systemd/system/kubelet.service.d/*.conf \
  /usr/lib/systemd/system/kubelet.service /usr/lib/systemd/system/kubelet.service.d/*.conf
echo '== config'
if [ -e /var/lib/kubelet/config.yaml ]; then echo yes; else echo no; fi"""),
    start,
    like="systemctl status kubelet; journalctl -u kubelet",
)
# The certificate alone is printed: the file of the kubelet's key holds both. `openssl x509` of OpenSSL 3.0 takes five
# times the processor time.
SHOWN = Probe(
    "kubelet.certificate",
    Lines(r"""show_end() {
  end=$(openssl storeutl -noout -text -certs "$1" | sed -n '/^ *Not After *: /{s//notAfter=/p;q}')
  [ -n "$end" ] || { echo 'there is no certificate that can be read' >&2; exit 1; }
  echo "$end"
}
file=/etc/kubernetes/kubelet.conf
[ -r "$file" ] || exit 0
found=$(sed -nE 's/^ *(client-certificate(-data)?): */\1 /p' "$file")
data='' path=''
while read -r key value; do
  case $key in *-data) data=${data:-$value} ;; *) path=${path:-$value} ;; esac
done <<FOUND
$found
FOUND
if [ -n "$data" ]; then
  echo "in $file"
  echo "$data" | base64 -d | show_end /dev/stdin
else
  echo "in $path"
  show_end "$path"
fi"""),
    read_start,
    like="openssl x509 -noout -enddate -in /var/lib/kubelet/pki/kubelet-client-current.pem",
)
