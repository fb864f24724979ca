#!/bin/sh
# Resets GPUs while nothing has them open, and prints the UUIDs of all that answer afterwards.
# shellcheck disable=SC2154 # units, selection and rounds stand before this text (reset.py).
command -v nvidia-smi >/dev/null || { echo 'nvidia-smi is not on the host' >&2; exit 1; }
running=''
for unit in $units; do
  if systemctl is-active --quiet "$unit"; then running="$running $unit"; fi
done
persistent=''
restore() {
  for uuid in $persistent; do nvidia-smi -pm 1 -i "$uuid" >&2; done
  for unit in $running; do systemctl start "$unit"; done
}
trap restore EXIT
trap 'exit 1' HUP INT TERM
for unit in $running; do systemctl stop "$unit" || exit 1; done
list_holders() { find /proc/[0-9]*/fd -maxdepth 1 -lname '/dev/nvidia*' 2>/dev/null | cut -d / -f 3 | sort -un | tr '\n' ' '; }
round=0
while holders=$(list_holders) && [ -n "$holders" ]; do
  round=$((round + 1))
  [ "$round" -le "$rounds" ] || { echo "processes have /dev/nvidia* open: $holders" >&2; exit 1; }
  sleep 2
done
# Persistence mode that no daemon holds is a client of the GPU as well: NVSentinel issue 1690.
# shellcheck disable=SC2086 # The selection is no word, or two.
persistent=$(nvidia-smi --query-gpu=uuid,persistence_mode --format=csv,noheader $selection | sed -n 's/, Enabled$//p')
for uuid in $persistent; do nvidia-smi -pm 0 -i "$uuid" >&2 || exit 1; done
# shellcheck disable=SC2086
nvidia-smi --gpu-reset $selection >&2 || exit 1
nvidia-smi --query-gpu=uuid --format=csv,noheader
