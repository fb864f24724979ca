#!/bin/sh
# Turns swap off and masks the units that would bring it back: those made from fstab, from GPT swap partitions, by
# zram-generator, and zram-tools' own service. Says `changed: …` for what it did.
set -eu
units=$(systemctl list-unit-files --no-legend --plain '*.swap' zramswap.service) || :
echo "$units" | while read -r unit state _; do
  case $state in '' | masked | disabled | transient) continue ;; esac
  systemctl mask --quiet --now "$unit"
  echo "changed: masked $unit"
done
[ "$(wc -l </proc/swaps)" -le 1 ] || {
  swapoff -a
  echo "changed: swap is off"
}
