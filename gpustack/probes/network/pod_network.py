"""What a host and its pods reach: the API, the service address of the API, the DNS servers, and pods of other nodes.

Asked from the network namespaces of pods that run here, and from the host's own: one connection, DNS question or echo
each, all at once, within two seconds; nothing is made. Whom to ask is told by the host itself: the routes of Flannel
name the other nodes, what kube-proxy wrote names their pods and those of CoreDNS. Each host asks the next nodes in the
order of their addresses, so that with thousands of them every one is asked by a few and nobody by all.

perl does the asking: perl-base is essential in Debian and Ubuntu, and ping, dig and nc are not. A datagram that must
not be split (IP_MTU_DISCOVER, ip(7)) is as long as the link of the pod allows.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import ipv4
from gpustack.probes.sections import named, sections

RESULTS = frozenset({"ok", "refused", "timeout", "unreachable", "too-large", "no-answer"})
SUBNET, MAC = re.compile(r"[0-9.]{7,15}/[0-9]{1,2}"), re.compile(r"-|[0-9a-f]{2}(:[0-9a-f]{2}){5}")
KINDS = frozenset(
    {"api", "service", "dns", "node", "echo", "overlay", "bridge", "bridge-large", "pod", "pod-echo", "pod-large"}
)


@dataclass(frozen=True)
class Peer:
    """Another node by its part of the pod network, as this host's kernel knows it. `via` is the next hop, `mac` and
    `node` what the overlay has for it; empty where it has nothing."""

    subnet: str
    via: str
    link: str
    mac: str
    node: str

    def holds(self, target: str) -> bool:
        return is_within(target.partition(":")[0], self.subnet)


@lru_cache(maxsize=10_000)
def is_within(address: str, subnet: str) -> bool:
    return IPv4Address(address) in IPv4Network(subnet)


@dataclass(frozen=True)
class Way:
    """`kind`: the API by its address, by its service; a DNS server; another node (connection, echo), its end of the
    overlay, its bridge, its pods; `large` is an echo as long as the link allows. `target` is an address, or
    address:port. `no-answer` is a server that said it does not know the name of the API; `too-large` is what the own
    link did not take."""

    kind: str
    target: str
    result: str


@dataclass(frozen=True)
class Ways:
    """From the host, and from each of its pods by address. `own` is the host's part of the pod network, empty without
    one."""

    own: str
    peers: tuple[Peer, ...]
    host: tuple[Way, ...]
    pods: Mapping[str, tuple[Way, ...]]

    def of(self, *kinds: str) -> Iterator[Way]:
        """Of all pods, or of the host where there is no pod to ask from."""
        for found in self.pods.values() or (self.host,):
            yield from (way for way in found if way.kind in kinds)


def ways(answer: Answer) -> Ways:
    """Raises ValueError for a line that is not as ours are."""
    found = named(sections(answer.out))
    (word, own), *peers = (line.split(" ") for line in found.pop("known"))
    if word != "own":
        raise ValueError(f"found {word}")
    host = tuple(way(line) for line in found.pop("host"))
    pods = {ipv4(name.removeprefix("pod ")): tuple(way(line) for line in lines) for name, lines in found.items()}
    return Ways("" if own == "-" else own, tuple(peer(*words) for words in peers), host, pods)


@lru_cache(maxsize=4096)
def peer(word: str, subnet: str, via: str, link: str, mac: str, node: str) -> Peer:
    if word != "peer" or not SUBNET.fullmatch(subnet) or not MAC.fullmatch(mac):
        raise ValueError(f"{word} {subnet} {mac}")
    IPv4Network(subnet)
    return Peer(subnet, ipv4(via), link, mac.removeprefix("-"), ipv4(node) if node != "-" else "")


@lru_cache(maxsize=4096)
def way(line: str) -> Way:
    """Many pods of many hosts are asked the same."""
    kind, target, result = line.split(" ")
    if kind not in KINDS or result not in RESULTS:
        raise ValueError(line)
    ipv4(target.partition(":")[0])
    return Way(kind, target, result)


# `plan` reads what the host knows and prints whom to ask; `ask` asks them. A node that the overlay knows and to which
# no route is left is asked all the same. 10 is IP_MTU_DISCOVER, 2 IP_PMTUDISC_DO.
PROGRAM = r"""
use strict; use Socket; use Fcntl;
my ($do, @with) = @ARGV;
sub net { my ($a, $l) = split m{/}, shift; ($a, defined $l ? $l : 32) }
sub num { unpack 'N', inet_aton(shift) }
sub text { inet_ntoa(pack 'N', shift) }
sub inside { my ($a, $n) = @_; my ($b, $l) = net($n); my $m = $l ? (0xffffffff << (32 - $l)) & 0xffffffff : 0;
  (num($a) & $m) == (num($b) & $m) }
sub plan {
  my ($api, $pods, $services) = @with; my ($part, $own, %mac, %node, @peers, @dns, %of) = ('', '-');
  while (defined(my $line = readline STDIN)) {
    chomp $line; my @w = split ' ', $line;
    if ($line =~ /^== (\w+)/) { $part = $1 }
    elsif ($part eq 'route' and $line =~ m{^([0-9.]+/\d+) dev cni}) { $own = $1 }
    elsif ($part eq 'route' and $line =~ m{^([0-9.]+/\d+) via ([0-9.]+) dev (\S+)} and inside((net($1))[0], $pods)) {
      push @peers, [$1, $2, $3] }
    elsif ($part eq 'neigh' and $line =~ /^([0-9.]+) dev flannel\S* lladdr (\S+)/) { $mac{$1} = $2 }
    elsif ($part eq 'fdb' and $line =~ /^(\S+) dst ([0-9.]+)/) { $node{$1} = $2 }
    elsif ($part eq 'nat' and $line =~ m{^(\S+) ([0-9.]+):(\d+)$} and inside($2, $pods)) {
      my ($name, $to, $port) = ($1, $2, $3);
      if ($name =~ m{^kube-system/kube-dns(:|/udp/)dns$}) { push @dns, $to }
      elsif ($name !~ m{/udp/}) { $of{$to} = $port } }
  }
  my $size = $own =~ m{(/\d+)$} ? $1 : '/24';
  for my $via (sort grep { inside($_, $pods) } keys %mac) {
    push @peers, [$via . $size, $via, 'flannel.1'] if !grep { inside($via, $$_[0]) } @peers }
  @peers = sort { num((net($$a[0]))[0]) - num((net($$b[0]))[0]) } @peers;
  if ($own ne '-') { my $me = num((net($own))[0]);
    @peers = ((grep { $me < num((net($$_[0]))[0]) } @peers), (grep { num((net($$_[0]))[0]) < $me } @peers)) }
  @peers = @peers[0 .. 2] if 3 < @peers;
  my $first = num((net($services))[0]);
  print "own $own\n";
  my @ask = ("api $api", 'service ' . text($first + 1) . ':443', 'dns ' . text($first + 10));
  my %seen; my @servers = grep { !$seen{$_}++ } sort @dns;
  push @ask, map { "dns $_" } @servers < 3 ? @servers : @servers[0, 1];
  for my $p (@peers) {
    my ($net, $via, $link) = @$p; my $m = $mac{$via} || '-'; my $n = $link =~ /^flannel/ ? $node{$m} || '-' : $via;
    print "peer $net $via $link $m $n\n";
    push @ask, "node $n:10250", "echo $n" if $n ne '-';
    push @ask, "overlay $via" if $link =~ /^flannel/;
    my $gate = text(num((net($net))[0]) + 1);
    push @ask, "bridge $gate", "bridge-large $gate";
    my @there = grep { inside($_, $net) } sort keys %of;
    for my $to (@there < 3 ? @there : @there[0, 1]) { push @ask, "pod $to:$of{$to}", "pod-echo $to", "pod-large $to" }
    push @ask, map { "pod $_:53" } grep { inside($_, $net) } @servers < 3 ? @servers : @servers[0, 1];
  }
  print "ask $_\n" for @ask;
}
sub sum { my $s = 0; $s += $_ for unpack 'n*', $_[0] . (length($_[0]) % 2 ? "\0" : '');
  $s = ($s & 0xffff) + int($s / 65536) while 0xffff < $s; ~$s & 0xffff }
sub echo { my ($id, $size) = @_; my $data = 'g' x ($size - 28);
  pack 'CCnnna*', 8, 0, sum(pack 'CCnnna*', 8, 0, 0, $id, 1, $data), $id, 1, $data }
sub why { $!{ECONNREFUSED} ? 'refused' : $!{EMSGSIZE} ? 'too-large' : $!{ETIMEDOUT} ? 'timeout' : 'unreachable' }
sub ask {
  my ($mtu, $domain) = @with; my (@all, $id); $id = $$ & 0x7fff;
  while (defined(my $line = readline STDIN)) {
    my ($word, $kind, $to) = split ' ', $line; next if !defined $word or $word ne 'ask';
    my ($host, $port) = split /:/, $to; my %t = ('kind', $kind, 'to', $to); push @all, \%t;
    if ($kind eq 'dns') {
      socket $t{s}, PF_INET, SOCK_DGRAM, 17 or exit 3; $port = 53; $id++;
      $t{id} = $id & 0x7fff; my $name = "kubernetes.default.svc.$domain";
      my $said = join '', map { chr(length) . $_ } split /\./, $name;
      $t{say} = pack('n6', $t{id}, 0x100, 1, 0, 0, 0) . $said . pack 'Cnn', 0, 1, 1;
    } elsif (defined $port) { socket $t{s}, PF_INET, SOCK_STREAM, 6 or exit 3
    } else {
      socket $t{s}, PF_INET, SOCK_RAW, 1 or exit 3; setsockopt $t{s}, 0, 10, pack 'i', 2;
      $port = 0; $id++; $t{id} = $id & 0x7fff; $t{say} = echo($t{id}, $kind =~ /large/ ? $mtu : 60);
    }
    fcntl $t{s}, F_SETFL, O_NONBLOCK | fcntl $t{s}, F_GETFL, 0;
    if (!connect $t{s}, pack_sockaddr_in($port, inet_aton($host)) and !$!{EINPROGRESS}) { $t{is} = why() }
  }
  for my $again (0, 1) {
    my $left = $again ? 1.2 : 0.8;
    for my $t (grep { $$_{say} and !$$_{is} } @all) { defined send $$t{s}, $$t{say}, 0 or $$t{is} = why() }
    while (0.01 < $left and my @open = grep { !$$_{is} } @all) {
      my ($r, $w) = ('', '');
      for my $t (@open) { my $n = fileno $$t{s}; if ($$t{say}) { vec($r, $n, 1) = 1 } else { vec($w, $n, 1) = 1 } }
      (my $many, $left) = select $r, $w, undef, $left;
      for my $t (@open) { my $n = fileno $$t{s};
        if (!$$t{say}) { next if !vec $w, $n, 1;
          $! = unpack 'i', getsockopt $$t{s}, SOL_SOCKET, SO_ERROR; $$t{is} = $! ? why() : 'ok'; next }
        next if !vec $r, $n, 1; my $got = '';
        if (!defined recv $$t{s}, $got, 65535, 0) { $$t{is} = why() unless $!{EAGAIN}; next }
        if ($$t{kind} eq 'dns') { my ($i, $f, undef, $a) = unpack 'n4', $got;
          $$t{is} = ($f & 15) || !$a ? 'no-answer' : 'ok' if defined $i and $i == $$t{id}; next }
        $got = substr $got, 4 * (15 & ord $got); my ($type, undef, undef, $i) = unpack 'CCnn', $got;
        $$t{is} = 'ok' if defined $i and $type == 0 and $i == $$t{id};
      }
    }
  }
  print join '', map { "$$_{kind} $$_{to} " . ($$_{is} || 'timeout') . "\n" } @all;
}
$do eq 'plan' ? plan() : ask();
"""

# In its nftables mode kube-proxy writes the pods of a service into the service's chain, and one chain for each of those
# that a client is to come back to.
ENDPOINTS = r"""
$1 == "chain" { service = ""
  if (sub(/^service-[^-]*-/, "", $2)) service = $2
  else if (sub(/^endpoint-[^-]*-/, "", $2)) {
    split($2, is, "__"); split(is[2], at, "/"); print is[1], at[1] ":" at[2] } }
service != "" && / dnat ip to / { while (match($0, /[0-9.]+ \. [0-9]+/)) {
  to = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH); sub(/ \. /, ":", to); print service, to } }
"""
# Of a host that runs no pod, and of one without Flannel, the host's own part is all there is. A namespace whose link is
# gone (its pod ended) has no address that is up, and is passed over; so is one that goes while it is asked.
SCRIPT = r"""command -v perl >/dev/null || exit 127
code=$(cat <<'P'
PROGRAM
P
)
api=$(getent ahostsv4 "${API%:*}" | awk 'NR == 1 {print $1}')
[ -n "$api" ] || exit 1
know() {
  echo '== route'; ip -4 route show
  echo '== neigh'; ip -4 neigh show
  echo '== fdb'
  for link in /sys/class/net/flannel.*; do
    [ ! -e "$link" ] || bridge fdb show dev "${link##*/}"
  done
  echo '== nat'
  timeout 2 iptables -w 1 -t nat -S 2>/dev/null |
    sed -n 's/.*--comment "\{0,1\}\([^ "]*\)"\{0,1\} .*--to-destination \([0-9.]*:[0-9]*\).*/\1 \2/p'
  timeout 2 nft list table ip kube-proxy 2>/dev/null | awk 'ENDPOINTS'
}
plan=$(know | perl -e "$code" plan "$api:${API##*:}" "$POD_CIDR" "$SERVICE_CIDR") || exit
echo '== known'
echo "$plan" | grep -v '^ask '
asked() {
  said=$(echo "$plan" | nsenter --net="$2" perl -e "$code" ask "$3" "$DNS_DOMAIN") || exit 0
  printf '== %s\n%s\n' "$1" "$said"
}
pods=0
for space in /run/netns/cni-* /run/containerd/io.containerd.grpc.v1.cri/netns/cni-*; do
  [ -e "$space" ] && [ "$pods" -lt 2 ] || continue
  said=$(nsenter --net="$space" ip -4 address show dev eth0 up 2>/dev/null) || continue
  case $said in *LOWER_UP*'inet '*) ;; *) continue ;; esac
  address=${said#*inet }; mtu=${said#*mtu }
  asked "pod ${address%%/*}" "$space" "${mtu%% *}" &
  pods=$((pods + 1))
done
mtu=$(sed -n 's/^FLANNEL_MTU=//p' /run/flannel/subnet.env 2>/dev/null)
asked host /proc/1/ns/net "${mtu:-1450}"
wait
""".replace("PROGRAM", PROGRAM.strip()).replace("ENDPOINTS", ENDPOINTS.strip())

POD_PATHS = Probe(
    "pod-network.paths",
    Lines(SCRIPT),
    ways,
    limit=8,
    like="nsenter --net=/run/netns/POD nc -zv ADDRESS PORT; ping -M do -s 1400 PEER",
)
