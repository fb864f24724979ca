#!/bin/sh
# Print each unit that failed, or that systemd starts again and again, with the last lines of its own processes.
units=$(systemctl list-units --state=failed,auto-restart --plain --no-legend --no-pager | awk '/^[^ ]/ {print $1}' | head -n 20)
for unit in $units; do
  printf '== %s\n' "$unit"
  shown=$(TZ=UTC systemctl show -p Result,ExecMainCode,ExecMainStatus,NRestarts,StateChangeTimestamp -- "$unit") || exit
  printf '%s\n' "$shown" | grep -v '^StateChangeTimestamp='
  changed=$(printf '%s\n' "$shown" | sed -n 's/^StateChangeTimestamp=//p')
  [ -z "$changed" ] || date -d "$changed" +ChangedAt=%s || exit
  journalctl -b "_SYSTEMD_UNIT=$unit" -n 3 -o cat --no-pager 2>/dev/null |
    sed -E 's/^(.{1500}).{3,}(.{500})$/\1...\2/; s/^/| /'
done
