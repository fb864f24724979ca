#!/bin/sh
# Takes from the host what step gpu-runtime put there, but for packages. Follows remove-agreed.sh and containerd-files.sh. What describes devices in
# /run would be gone with the next boot. Says `changed: …` for what it did.
set -eu
if is_agreed remove /etc/containerd/conf.d/gpustack-nvidia.toml; then
  drop /etc/containerd/conf.d/gpustack-nvidia.toml
  if systemctl -q is-active containerd; then
    restart_containerd
    echo "changed: restarted containerd"
  fi
fi
drop /etc/apt/sources.list.d/gpustack-toolkit.sources /etc/apt/keyrings/gpustack-toolkit.gpg \
  /etc/apt/preferences.d/gpustack-toolkit.pref
drop /var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json
