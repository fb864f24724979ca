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
# shellcheck disable=SC2043 # they are several
for unit in UNITS; do
  show() { systemctl show -p "$1" --value "$unit.service"; }
  load=$(show LoadState) || exit
  mine=no pid=$(show MainPID) enabled=$(show UnitFileState) command=
  [ ! -e "/etc/systemd/system/$unit.service.d/gpustack.conf" ] || mine=yes
  [ "${pid:-0}" = 0 ] || command=$(known_words 2>/dev/null <"/proc/$pid/cmdline")
  echo "$unit $load $(show ActiveState) ${enabled:--} $mine ${command% }"
done
echo '== secrets'
printf '%s' "${STANDALONE_SECRETS-}" | while read -r name wanted; do
  is=other file=/etc/gpustack-cluster/standalone/receivers/$name
  if [ -r "$file" ]; then
    output=$({ printf '%s' "$SALT"; cat "$file"; } | sha256sum)
    [ "${output%% *}" != "$wanted" ] || is=same
  fi
  echo "$name $is"
done
echo '== end'
