#!/bin/sh
# shellcheck disable=SC2043 # they are several
for unit in UNITS; do
  path=/etc/systemd/system/$unit
  [ -e "$path" ] || continue
  sum=$(sha256sum <"$path") || exit
  reload=$(systemctl show -p NeedDaemonReload --value "$unit") || exit
  echo "unit $unit ${sum%% *} $reload"
done
active=$(systemctl show -p ActiveState --value TIMER) || exit
unit_state=$(systemctl show -p UnitFileState --value TIMER) || exit
echo "timer $active ${unit_state:--}"
for path in FOLDER/PREFIX*.prom; do
  [ ! -e "$path" ] || echo "result ${path##*/}"
done
exit 0
