#!/bin/sh
# Moves what is ours out of the folders that earlier releases had, which another product of the name gpustack has too:
# only names of ours, and only on a host that has our settings. Says `changed: …` for each.
set -eu
[ -e /etc/sysctl.d/90-gpustack.conf ] || exit 0
for path in /etc/gpustack/proxy.env /etc/gpustack/images /var/lib/gpustack/charts /var/lib/gpustack/fixes; do
  [ -e "$path" ] && [ ! -L "$path" ] || continue
  folder=$(dirname "$path")-cluster
  install -d -m 0755 "$folder"
  cp -a --no-clobber "$path" "$folder/"
  rm --recursive --force --one-file-system "$path"
  rmdir --ignore-fail-on-non-empty "${path%/*}"
  echo "changed: $path is in $folder"
done
