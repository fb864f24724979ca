#!/bin/sh
# Starts programs with the wanted command lines, now and at boot. Files of earlier settings go with the record of the step.
# Reads PLAIN (units that start as their package says) and, on its standard input, a line `UNIT COMMAND` for each program
# with settings of ours. Says `changed: …` for what it did.
set -eu
show() { systemctl show -p "$2" --value "$1.service"; }
running() {
  pid=$(show "$1" MainPID)
  [ "${pid:-0}" = 0 ] || tr '\0' ' ' <"/proc/$pid/cmdline" | sed 's/ $//'
}

# A program reads its environment once.
has_old_proxy() { # UNIT
  file=/etc/gpustack-cluster/proxy.env
  grep -qsxF "EnvironmentFile=$file" "/etc/systemd/system/$1.service.d/gpustack.conf" || return 1
  # For the zone of TZ; only UTC's name means the same to every date(1).
  start_time=$(TZ=UTC systemctl show -p ActiveEnterTimestamp --value "$1.service")
  [ "$(stat -c %Y "$file")" -gt "$(date -d "$start_time" +%s)" ]
}

ensure() { # UNIT COMMAND
  [ "$(show "$1" NeedDaemonReload)" = no ] || systemctl daemon-reload
  if [ "$(show "$1" UnitFileState)" != enabled ]; then
    systemctl -q enable "$1.service"
    echo "changed: $1 starts at boot"
  fi
  systemctl -q is-active "$1.service" && { [ -z "$2" ] || [ "$(running "$1")" = "$2" ]; } && ! has_old_proxy "$1" && return
  systemctl restart "$1.service"
  echo "changed: started $1"
}

for unit in $PLAIN; do ensure "$unit" ''; done
while read -r unit command; do
  case $unit in '' | '#'*) continue ;; esac
  ensure "$unit" "$command"
done
