#!/bin/sh
# Print the last lines in the logs of the components that have a manifest and no process.
cd /etc/kubernetes/manifests 2>/dev/null || exit 0
# shellcheck disable=SC2043 # they are several
for name in COMPONENTS; do
  [ -e "$name.yaml" ] || continue
  pgrep -f "^$name " >/dev/null
  case $? in 0) continue ;; 1) ;; *) exit 1 ;; esac
  log=$(find_log "$name")
  [ -n "$log" ] || continue
  echo "== $name"
  tail -n 20 "$log" | cut -d ' ' -f 4- | sed -E 's/^(.{1500}).{3,}(.{500})$/\1...\2/; s/^/| /'
done
