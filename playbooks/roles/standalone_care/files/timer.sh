#!/bin/sh
# Starts the timer of the diagnostic, now and at boot, with a file for each result; or removes all of it, where WANTED is
# empty. The time of a file says when it ended so, and 1970 is never. Says `changed: …` for what it did.
set -eu
umask 022
show() { systemctl show -p "$2" --value "$1"; }
folder=/var/lib/prometheus/node-exporter

if [ -z "$WANTED" ]; then
  is_changed=
  for path in /etc/systemd/system/gpu-care.timer /etc/systemd/system/gpu-care.service; do
    grep -qs '^# Written by gpustack' "$path" || continue
    case $path in *.timer) systemctl -q disable --now gpu-care.timer ;; esac
    rm -f "$path"
    is_changed=yes
    echo "changed: removed $path"
  done
  [ -z "$is_changed" ] || systemctl daemon-reload
  cd "$folder" 2>/dev/null || exit 0
  for result in passed failed skipped unknown since; do
    [ -e "gpu-care-$result.prom" ] || continue
    rm -f "gpu-care-$result.prom"
    echo "changed: removed gpu-care-$result.prom"
  done
  exit 0
fi

cd "$folder"
for result in passed failed skipped unknown; do
  [ ! -e "gpu-care-$result.prom" ] || continue
  touch -d @0 "gpu-care-$result.prom"
  echo "changed: added gpu-care-$result.prom"
done
if [ ! -e gpu-care-since.prom ]; then
  touch gpu-care-since.prom
  echo "changed: added gpu-care-since.prom"
fi
stale=$(show gpu-care.timer NeedDaemonReload)$(show gpu-care.service NeedDaemonReload)
[ "$stale" = nono ] || systemctl daemon-reload
if [ "$(show gpu-care.timer UnitFileState)" != enabled ]; then
  systemctl -q enable gpu-care.timer
  echo 'changed: the timer starts at boot'
fi
if [ "$stale" != nono ] || ! systemctl -q is-active gpu-care.timer; then
  systemctl restart gpu-care.timer
  echo 'changed: started the timer'
fi
