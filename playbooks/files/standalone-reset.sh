#!/bin/sh
# Stops the programs whose settings are ours and removes these. Follows remove-agreed.sh. Reads UNITS and FILES (paths, also
# patterns). Series in /var/lib/prometheus stay. Says `changed: …` for what it did.
set -eu
for unit in $UNITS; do
  dropin=/etc/systemd/system/$unit.service.d/gpustack.conf
  is_agreed remove "$dropin" || continue
  # With the settings of its package it would listen on all addresses.
  systemctl -q disable --now "$unit.service" 2>/dev/null || :
  drop "$dropin"
  drop_empty "${dropin%/*}"
  systemctl daemon-reload
done
# shellcheck disable=SC2086 # patterns
drop $FILES
drop_empty /etc/gpustack-cluster/standalone/receivers
drop_empty /etc/gpustack-cluster/standalone
drop_empty /etc/gpustack-cluster
