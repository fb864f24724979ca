#!/bin/sh
# Says `changed: …` when containerd started before one of its files was written, so that it runs with older settings.
set -eu
started=$(systemctl show --timestamp=unix -p ActiveEnterTimestamp --value containerd)
for file in /etc/containerd/config.toml /etc/containerd/conf.d/*.toml; do
  [ "$(stat -c %Y "$file")" -le "${started#@}" ] || echo "changed: $file is newer than the running containerd"
done
