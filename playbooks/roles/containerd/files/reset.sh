#!/bin/sh
# Takes from the host what step containerd put there. Follows remove-agreed.sh and containerd-files.sh. CHANGED is `yes` when the main
# configuration was changed just now. Containers go on running.
# Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
restart=$CHANGED
for file in $(printf '%s\n' "$AGREED_NOW" | sed -n 's,^[a-z]* \(/etc/containerd/.*\.toml\)$,\1,p'); do
  drop "$file"
  restart=yes
done
if is_agreed remove /etc/systemd/system/containerd.service.d/gpustack-proxy.conf; then
  drop /etc/systemd/system/containerd.service.d/gpustack-proxy.conf
  drop_empty /etc/systemd/system/containerd.service.d
  systemctl daemon-reload
  restart=yes
fi
for registry in docker.io ghcr.io nvcr.io quay.io registry.k8s.io; do
  drop "/etc/containerd/certs.d/$registry/hosts.toml"
  drop_empty "/etc/containerd/certs.d/$registry"
done
drop /opt/containerd/image-verifier/bin/gpustack /etc/gpustack-cluster/images
rm -f /opt/containerd/image-verifier/gpustack.new /etc/gpustack-cluster/images.new
drop_empty /opt/containerd/image-verifier/bin
drop_empty /opt/containerd/image-verifier
rm -rf --one-file-system /run/gpustack-containerd # of an installation that was broken off
drop_empty /etc/containerd/conf.d
drop_empty /etc/containerd/certs.d
if [ "$restart" = yes ] && systemctl -q is-active containerd; then
  restart_containerd
  echo "changed: restarted containerd"
fi
for name in containerd kubernetes; do
  drop "/etc/apt/sources.list.d/gpustack-$name.sources" "/etc/apt/keyrings/gpustack-$name.gpg" \
    "/etc/apt/preferences.d/gpustack-$name.pref"
done
drop /etc/apt/auth.conf.d/gpustack-mirror.conf
