#!/bin/sh
# The words of a command line that are compared with ours. Any other may be a secret of somebody else's.
known_words() {
  tr '\0\n' '\n ' | while IFS= read -r word || [ -n "$word" ]; do
    case $word in
      WORDS) printf '%s ' "$word" ;;
      *) printf '? ' ;;
    esac
  done
}
echo '== packages'
dpkg-query -Wf '${Package} ${db:Status-Want} ${db:Status-Status} ${Version}\n' PACKAGES 2>/dev/null
echo '== units'
set -- UNITS
# Blocks come in the order of the units, with an empty line between two of them.
properties=$(systemctl show -p LoadState,ActiveState,UnitFileState,MainPID "$@") || exit
load='' active='' unit_state='' pid=''
while IFS='=' read -r key value; do
  case $key in
    LoadState) load=$value ;;
    ActiveState) active=$value ;;
    UnitFileState) unit_state=$value ;;
    MainPID) pid=$value ;;
    '')
      mine=no command=''
      [ ! -e "/etc/systemd/system/$1.service.d/gpustack.conf" ] || mine=yes
      [ "${pid:-0}" = 0 ] || command=$(known_words 2>/dev/null <"/proc/$pid/cmdline")
      echo "$1 $load $active ${unit_state:--} $mine ${command% }"
      shift
      load='' active='' unit_state='' pid=''
      ;;
  esac
done <<SHOWN
$properties

SHOWN
echo '== secrets'
printf '%s' "${STANDALONE_SECRETS-}" | while read -r name expected_sum; do
  is=other file=/etc/gpustack-cluster/standalone/receivers/$name
  if [ -r "$file" ]; then
    output=$({ printf '%s' "$SALT"; cat "$file"; } | sha256sum)
    [ "${output%% *}" != "$expected_sum" ] || is=same
  fi
  echo "$name $is"
done
echo '== end'
