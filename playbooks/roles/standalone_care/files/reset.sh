#!/bin/sh
# Stops the timer of the diagnostic and removes what is ours of it. Follows remove-agreed.sh.
set -eu
timer=/etc/systemd/system/gpu-care.timer
if is_agreed remove "$timer"; then
  systemctl -q disable --now gpu-care.timer 2>/dev/null || :
fi
drop "$timer" /etc/systemd/system/gpu-care.service
systemctl daemon-reload
cd /var/lib/prometheus/node-exporter 2>/dev/null || exit 0
for name in gpu-care-passed.prom gpu-care-failed.prom gpu-care-skipped.prom gpu-care-unknown.prom gpu-care-since.prom; do
  drop "$PWD/$name"
done
