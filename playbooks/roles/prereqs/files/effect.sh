#!/bin/sh
# Brings about now what our files bring about at boot. Reads SWAP (`off` or `keep`) and TIME_SYNC (`managed` or
# `external`). Says `changed: …` for what it did.
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

# Units of swap come from fstab, from GPT partitions, from zram-generator; zram-tools has a service of its own. A mask says
# not whose it is, so each is noted before it is made: a reset takes no other away.
MASKED_UNITS=/var/lib/gpustack-cluster/masked-swap
swap_off() {
  units=$(systemctl list-unit-files --no-legend --plain '*.swap' zramswap.service) || :
  echo "$units" | while read -r unit state _; do
    case $state in '' | masked | disabled | transient) continue ;; esac
    case $(systemctl show --property FragmentPath --value "$unit") in
      # A unit file there cannot be masked.
      /etc/*) ;;
      *)
        echo "$unit" >>"$MASKED_UNITS"
        sync "$MASKED_UNITS"
        ;;
    esac
    systemctl mask --quiet --now "$unit" 2>/dev/null || systemctl disable --quiet --now "$unit"
    echo "changed: $unit"
  done
  [ "$(wc -l </proc/swaps)" -gt 1 ] || return 0
  swapoff -a
  echo "changed: swap is off"
}
[ "$SWAP" != off ] || swap_off

# host-packages.sh has seen to it that one is installed.
clock_state() { systemctl is-enabled "$1"; systemctl is-active "$1"; } 2>/dev/null
time_service() {
  clocks="systemd-timesyncd chrony ntpsec ntp openntpd"
  for unit in $clocks; do
    ! systemctl --quiet is-active "$unit" || ! systemctl --quiet is-enabled "$unit" 2>/dev/null || return 0
  done
  for unit in $clocks; do
    systemctl cat "$unit" >/dev/null 2>&1 || continue
    before=$(clock_state "$unit") || :
    systemctl --quiet enable --now "$unit"
    [ "$(clock_state "$unit" || :)" = "$before" ] || echo "changed: started $unit"
    return 0
  done
}
[ "$TIME_SYNC" != managed ] || time_service
