#!/bin/sh
# Takes from the host what step gpu-driver put there, but for packages. Follows remove-agreed.sh.
# Says `changed: …` for what it did.
set -eu
if is_agreed remove /etc/modprobe.d/gpustack-nouveau.conf; then
  drop /etc/modprobe.d/gpustack-nouveau.conf
  if command -v update-initramfs >/dev/null && [ -n "$(find /boot -maxdepth 1 -name 'initrd.img-*')" ]; then
    update-initramfs -u -k all >/dev/null
  fi
fi
drop /etc/apt/apt.conf.d/52gpustack-nvidia-driver /etc/apt/sources.list.d/gpustack-nvidia.sources \
  /etc/apt/keyrings/gpustack-nvidia.gpg /etc/apt/preferences.d/gpustack-nvidia.pref
