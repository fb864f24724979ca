# shellcheck shell=sh
# Before the packages go: what they started ends, where nothing uses it. Reads PACKAGES. What is in use stays loaded until
# the next boot.
set -eu
if [ -n "$PACKAGES" ]; then
  systemctl -q stop nvidia-persistenced.service 2>/dev/null || :
  for module in nvidia_uvm nvidia_drm nvidia_modeset nvidia; do
    [ ! -d "/sys/module/$module" ] || modprobe -r "$module" 2>/dev/null || :
  done
fi
