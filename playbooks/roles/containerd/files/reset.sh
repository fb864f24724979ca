#!/bin/sh
# Takes from the host what step containerd put there. Follows kept-copies.sh. RESTORE is `yes` when nobody but us has
# changed the main configuration, CHANGED when it was changed just now. Containers go on running.
# Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
HEADER='# Written by gpustack; a change here is undone by the next install.'
MAIN=/etc/containerd/config.toml
restart=$CHANGED
first=$(copies "$MAIN" | head -n 1)
if [ "$RESTORE" = yes ]; then
  cp -p "$first" "$MAIN"
  echo "changed: $MAIN is as it was"
  restart=yes
fi
if [ -n "$first" ] && cmp -s "$first" "$MAIN"; then
  copies "$MAIN" | while read -r copy; do rm "$copy"; done
fi
# Where there was none, we made one of this line.
if [ -e "$MAIN" ] && [ "$(cat "$MAIN")" = 'version = 3' ] && ! dpkg -S "$MAIN" >/dev/null 2>&1; then
  drop "$MAIN"
fi

if [ -e /etc/containerd/conf.d/gpustack.toml ]; then
  rm /etc/containerd/conf.d/gpustack.toml
  echo "changed: removed /etc/containerd/conf.d/gpustack.toml"
  restart=yes
fi
if [ -e /etc/systemd/system/containerd.service.d/gpustack-proxy.conf ]; then
  drop /etc/systemd/system/containerd.service.d/gpustack-proxy.conf
  drop_empty /etc/systemd/system/containerd.service.d
  systemctl daemon-reload
  restart=yes
fi
for file in /etc/containerd/certs.d/*/hosts.toml; do
  [ -e "$file" ] && [ "$(head -n 1 "$file")" = "$HEADER" ] || continue
  drop "$file"
  drop_empty "${file%/hosts.toml}"
done
drop /opt/containerd/image-verifier/bin/gpustack /etc/gpustack-cluster/images
drop_empty /opt/containerd/image-verifier/bin
drop_empty /opt/containerd/image-verifier
drop_empty /etc/containerd/conf.d
drop_empty /etc/containerd/certs.d
if [ "$restart" = yes ] && systemctl -q is-active containerd; then
  systemctl restart containerd
  echo "changed: restarted containerd"
fi
for name in containerd kubernetes; do
  drop "/etc/apt/sources.list.d/gpustack-$name.sources" "/etc/apt/keyrings/gpustack-$name.gpg" \
    "/etc/apt/preferences.d/gpustack-$name.pref"
done
drop /etc/apt/auth.conf.d/gpustack-mirror.conf
