#!/bin/sh
# Takes back what step prereqs did. Follows remove-agreed.sh. Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL

# Names of units that effect.sh masked; the site may have masked others.
MASKED_UNITS=/var/lib/gpustack-cluster/masked-swap
if is_agreed restore /etc/fstab || is_agreed remove "$MASKED_UNITS"; then
  drop /etc/fstab
  ! is_agreed remove "$MASKED_UNITS" || while read -r unit; do
    [ "$(readlink "/etc/systemd/system/$unit")" != /dev/null ] || rm "/etc/systemd/system/$unit"
  done <"$MASKED_UNITS"
  drop "$MASKED_UNITS"
  systemctl daemon-reload
fi

if is_agreed remove /etc/sysctl.d/90-gpustack.conf || is_agreed remove /etc/sysctl.d/zzz-gpustack.conf; then
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
drop /usr/local/share/ca-certificates/gpustack-proxy.crt /usr/local/share/ca-certificates/gpustack-mirror.crt
for name in gpustack-proxy gpustack-mirror; do
  if [ -L "/etc/ssl/certs/$name.pem" ] && [ ! -e "/etc/ssl/certs/$name.pem" ]; then
    update-ca-certificates --fresh >/dev/null
    echo "changed: no longer trusted: $name"
  fi
done
drop /etc/modules-load.d/gpustack.conf /etc/apt/apt.conf.d/99gpustack-proxy /etc/apt/auth.conf.d/gpustack-proxy.conf \
  /etc/gpustack-cluster/proxy.env /var/lib/gpustack-cluster/fixes
drop_empty /etc/gpustack-cluster
# Files of remedies.
drop /etc/NetworkManager/conf.d/gpustack.conf /etc/systemd/network/10-flannel.link \
  /etc/systemd/network/00-gpustack-pods.network
