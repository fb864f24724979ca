#!/bin/sh
# The kernel's own driver would take the GPUs: it is not loaded any more at boot, and unloaded where nothing uses it.
# Says `changed: …` for what it did.
set -eu
FILE=/etc/modprobe.d/gpustack-nouveau.conf
TEXT='# Written by gpustack; a change here is undone by the next install.
blacklist nouveau
options nouveau modeset=0'

if [ "$(cat "$FILE" 2>/dev/null)" != "$TEXT" ]; then
  printf '%s\n' "$TEXT" >"$FILE.new"
  mv "$FILE.new" "$FILE"
  # What loads modules early in the boot has a copy of these files.
  if command -v update-initramfs >/dev/null && [ -n "$(find /boot -maxdepth 1 -name 'initrd.img-*')" ]; then
    update-initramfs -u -k all >/dev/null
  fi
  echo "changed: $FILE"
fi
# Where a console is on it, it stays until the next boot, and the checks say so.
if [ -d /sys/module/nouveau ] && modprobe -r nouveau 2>/dev/null; then
  echo "changed: unloaded nouveau"
fi
