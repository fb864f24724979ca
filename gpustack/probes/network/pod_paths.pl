#!/usr/bin/perl
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
  my ($mtu, $name) = @with; my (@all, $id); $id = $$ & 0x7fff;
  while (defined(my $line = readline STDIN)) {
    my ($word, $kind, $to) = split ' ', $line; next if !defined $word or $word ne 'ask';
    my ($host, $port) = split /:/, $to; my %t = ('kind', $kind, 'to', $to); push @all, \%t;
    if ($kind eq 'dns' or $kind eq 'name') {
      socket $t{s}, PF_INET, SOCK_DGRAM, 17 or exit 3; $port = 53; $id++;
      $t{id} = $id & 0x7fff;
      my $labels = join '', map { chr(length) . $_ } split /\./, $name;
      $t{say} = pack('n6', $t{id}, 0x100, 1, 0, 0, 0) . $labels . pack 'Cnn', 0, 1, 1;
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
        if ($$t{kind} eq 'dns' or $$t{kind} eq 'name') { my ($i, $f, undef, $a) = unpack 'n4', $got;
          my $bad = ($f & 15) == 3 && $$t{kind} eq 'name' ? 'no-name' : 'no-answer';
          $$t{is} = ($f & 15) || !$a ? $bad : 'ok' if defined $i and $i == $$t{id}; next }
        $got = substr $got, 4 * (15 & ord $got); my ($type, undef, undef, $i) = unpack 'CCnn', $got;
        $$t{is} = 'ok' if defined $i and $type == 0 and $i == $$t{id};
      }
    }
  }
  print join '', map { "$$_{kind} $$_{to} " . ($$_{is} || 'timeout') . "\n" } @all;
}
$do eq 'plan' ? plan() : ask();
