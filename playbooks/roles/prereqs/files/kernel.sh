#!/bin/sh
# Makes the modules and sysctls effective now, as our files make them at boot. Says `changed: …` for what it did.
set -eu
load() {
  modprobe "$1"
  echo "changed: loaded $1"
}
grep -qw overlay /proc/filesystems || load overlay
[ -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || load br_netfilter
for key in net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables net.bridge.bridge-nf-call-ip6tables; do
  [ "$(sysctl -n "$key")" != 1 ] || continue
  sysctl -qw "$key=1"
  echo "changed: set $key"
done
