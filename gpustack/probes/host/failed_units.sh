#!/bin/sh
# Print each unit that failed, or that systemd starts again and again, with the last lines of its own processes. Scopes,
# of which containers have many, come last. One that systemd has forgotten since it was listed is passed over.
units=$(systemctl list-units --state=failed,auto-restart --plain --no-legend --no-pager |
  awk '/^[^ ]+\.scope / {scopes = scopes $1 "\n"; next} /^[^ ]/ {print $1} END {printf "%s", scopes}' | head -n 20)
for unit in $units; do
  properties=$(TZ=UTC systemctl show -p ActiveState,Result,ExecMainCode,ExecMainStatus,NRestarts,StateChangeTimestamp -- "$unit") || exit
  case $properties in *ActiveState=active* | *ActiveState=inactive*) continue ;; esac
  printf '== %s\n' "$unit"
  printf '%s\n' "$properties" | grep -vE '^(ActiveState|StateChangeTimestamp)='
  change_time=$(printf '%s\n' "$properties" | sed -n 's/^StateChangeTimestamp=//p')
  [ -z "$change_time" ] || date -d "$change_time" +ChangedAt=%s || exit
  journalctl -b "_SYSTEMD_UNIT=$unit" -n 3 -o cat --no-pager 2>/dev/null |
    sed -E 's/^(.{1500}).{3,}(.{500})$/\1...\2/; s/^/| /'
done
