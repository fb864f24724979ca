#!/bin/sh
# Takes back what step prereqs did. Follows kept-copies.sh. Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL

# Lines of fstab that are commented out now and were not in a copy that we kept.
kept=$(copies /etc/fstab)
if [ -n "$kept" ]; then
  fresh=$(mktemp /etc/fstab.gpustack.XXXXXX)
  trap 'rm -f "$fresh"' EXIT
  # shellcheck disable=SC2086 # words
  awk -v last=/etc/fstab 'FILENAME != last { if ($3 == "swap" && $0 !~ /^[ \t]*#/) was[$0]; next }
    { line = $0; if (sub(/^# /, "", line) && line in was) print line; else print }' $kept /etc/fstab >"$fresh"
  if ! cmp -s "$fresh" /etc/fstab; then
    chmod --reference=/etc/fstab "$fresh"
    mv "$fresh" /etc/fstab
    echo "changed: fstab has its swap again"
    awk '$3 == "swap" && !/^[ \t]*#/ {print $1}' /etc/fstab | while read -r what; do
      case $what in
        UUID=*) what=/dev/disk/by-uuid/${what#UUID=} ;;
        LABEL=*) what=/dev/disk/by-label/${what#LABEL=} ;;
        PARTUUID=*) what=/dev/disk/by-partuuid/${what#PARTUUID=} ;;
        PARTLABEL=*) what=/dev/disk/by-partlabel/${what#PARTLABEL=} ;;
      esac
      unit=$(systemd-escape --path --suffix=swap "$what")
      [ "$(readlink "/etc/systemd/system/$unit")" != /dev/null ] || rm "/etc/systemd/system/$unit"
    done
    systemctl daemon-reload
  fi
  printf '%s\n' "$kept" | while read -r copy; do rm "$copy"; done
fi

# In folders of earlier releases, which another product has too.
if [ -e /etc/sysctl.d/90-gpustack.conf ]; then
  drop /etc/gpustack/proxy.env /etc/gpustack/images /var/lib/gpustack/charts /var/lib/gpustack/fixes
  drop_empty /etc/gpustack
  drop_empty /var/lib/gpustack
fi
if [ -e /etc/sysctl.d/90-gpustack.conf ] || [ -e /etc/sysctl.d/zzz-gpustack.conf ]; then
  drop /etc/sysctl.d/90-gpustack.conf /etc/sysctl.d/zzz-gpustack.conf
  # What other files say counts again. A key that no file names keeps its value until the next boot.
  for tool in /usr/lib/systemd/systemd-sysctl /lib/systemd/systemd-sysctl; do
    [ -x "$tool" ] || continue
    "$tool" --prefix=/net/ipv4/ip_forward --prefix=/net/ipv4/conf/all/forwarding --prefix=/net/bridge \
      --prefix=/net/ipv4/conf/all/route_localnet --prefix=/net/netfilter --prefix=/vm/overcommit_memory \
      --prefix=/vm/panic_on_oom --prefix=/kernel/panic --prefix=/kernel/panic_on_oops --prefix=/kernel/keys
    break
  done
fi
drop /etc/modules-load.d/gpustack.conf /etc/apt/apt.conf.d/99gpustack-proxy /etc/apt/auth.conf.d/gpustack-proxy.conf \
  /etc/gpustack-cluster/proxy.env /var/lib/gpustack-cluster/fixes
drop_empty /etc/gpustack-cluster
drop_empty /var/lib/gpustack-cluster
# Files of remedies. One of the same name that somebody else wrote stays.
for file in /etc/NetworkManager/conf.d/gpustack.conf /etc/systemd/network/10-flannel.link; do
  ! head -n 1 "$file" 2>/dev/null | grep -q '^# Written by gpustack' || drop "$file"
done
