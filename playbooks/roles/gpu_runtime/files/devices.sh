#!/bin/sh
# Lets the toolkit describe the GPUs for CDI where its file does not name as many as the PCI bus has. Units of the package
# do so at boot. Says `changed: …` for what it did.
set -eu
FILE=/var/run/cdi/nvidia.yaml
named() { sed -n 's/^ *-\{0,1\} *name: "\{0,1\}\(GPU-[^"]*\)"\{0,1\}$/\1/p' "$FILE" 2>/dev/null | sort -u | grep -c . || :; }
on_the_bus() {
  for device in /sys/bus/pci/devices/*; do
    grep -qsx 0x10de "$device/vendor" && grep -qs '^0x030[02]' "$device/class" && echo "$device"
  done | grep -c . || :
}
# What is in /etc/cdi counts as well, and is an administrator's.
[ ! -e /etc/cdi/nvidia.yaml ] || exit 0
[ "$(named)" != "$(on_the_bus)" ] || exit 0
systemctl -q restart nvidia-cdi-refresh.service 2>/dev/null || :
if [ "$(named)" != "$(on_the_bus)" ]; then
  mkdir -p /var/run/cdi
  said=$(nvidia-ctk --quiet cdi generate --output="$FILE" 2>&1) || {
    echo "the container toolkit cannot describe the GPUs on $(hostname): $said" >&2
    exit 1
  }
fi
echo "changed: $FILE"
