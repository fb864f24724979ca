"""The state of the kubelet's unit, its message when it last ended by itself, and the certificate it shows."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import FLAGS
from gpustack.probes.sections import parse_sections


@dataclass(frozen=True)
class Start:
    """Describe the start of the kubelet by systemd's words for its unit.

    `message` is its last line about why it ended, empty for none; `files` are those that name the flag it does not
    know; `has_config`: there is a configuration to start with.
    """

    active: str
    result: str
    file: str
    message: str
    files: tuple[str, ...]
    has_config: bool

    @property
    def unknown_flag(self) -> str:
        match = re.search(r"unknown flag: (--[a-zA-Z0-9-]+)", self.message)
        return match[1] if match else ""


@dataclass(frozen=True)
class KubeletCertificate:
    """Describe the kubelet's certificate: where it lies, and its last moment."""

    place: str
    expires_at: datetime


def parse_start(answer: Answer) -> Start | None:
    """Parse the start of the kubelet, or None where it is not installed."""
    unit, messages, files, config = parse_sections(answer.stdout, "unit", "said", "files", "config")
    words = dict(line.split("=", 1) for line in unit)
    if words["LoadState"] == "not-found":
        return None
    if not all(line.startswith("| ") for line in messages) or not all(line.startswith("/") for line in files):
        raise ValueError(answer.stdout)
    line = shorten_message(messages[-1].removeprefix("| ")) if messages else ""
    has_config = FLAGS[config[0]]
    return Start(words["ActiveState"], words["Result"], words["UnitFileState"], line, tuple(files), has_config)


def parse_kubelet_certificate(answer: Answer) -> KubeletCertificate | None:
    """Parse the kubelet's certificate, or None where it has no credentials."""
    if not answer.stdout:
        return None
    place, end = answer.stdout.splitlines()
    expires_at = datetime.strptime(end.removeprefix("notAfter="), "%b %d %H:%M:%S %Y GMT").replace(tzinfo=UTC)
    return KubeletCertificate(place.removeprefix("in "), expires_at)


START = Probe(
    "kubelet.start",
    Lines(r"""echo '== unit'
systemctl show kubelet -p LoadState,ActiveState,Result,UnitFileState || exit
echo '== said'
output=$(journalctl -u kubelet -n 200 -o cat --no-pager 2>/dev/null |
  awk '/"command failed"|[Ff]ailed to (run|load) [Kk]ubelet|unknown flag/ {line = $0} END {print line}')
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
    parse_start,
    manual_command="systemctl status kubelet; journalctl -u kubelet",
)
# The certificate alone is printed: the file of the kubelet's key holds both. `openssl x509` of OpenSSL 3.0 takes five
# times the processor time.
KUBELET_CERTIFICATE = Probe(
    "kubelet.certificate",
    Lines(r"""show_end() {
  end=$(openssl storeutl -noout -text -certs "$1" | sed -n '/^ *Not After *: /{s//notAfter=/p;q}')
  [ -n "$end" ] || { echo 'there is no certificate that can be read' >&2; exit 1; }
  echo "$end"
}
file=/etc/kubernetes/kubelet.conf
[ -r "$file" ] || exit 0
entries=$(sed -nE 's/^ *(client-certificate(-data)?): */\1 /p' "$file")
data='' path=''
while read -r key value; do
  case $key in *-data) data=${data:-$value} ;; *) path=${path:-$value} ;; esac
done <<FOUND
$entries
FOUND
if [ -n "$data" ]; then
  echo "in $file"
  echo "$data" | base64 -d | show_end /dev/stdin
else
  echo "in $path"
  show_end "$path"
fi"""),
    parse_kubelet_certificate,
    manual_command="openssl x509 -noout -enddate -in /var/lib/kubelet/pki/kubelet-client-current.pem",
)
