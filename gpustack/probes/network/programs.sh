#!/bin/sh
listeners=$(ss -Hltnp) || exit
printf '%s\n' "$listeners" | sed -n 's/^[^ ]* *[0-9]* *[0-9]* *[^ ]*:\([0-9]*\) .*pid=\([0-9]*\),.*/\1 \2/p' |
  while read -r port pid; do
    unit='' is=''
    while IFS=: read -r _ kinds group; do
      case $group in *kubepods*) is=pod ;; esac
      case $kinds in '' | name=systemd) unit=${unit:-$group} ;; esac
    done 2>/dev/null <"/proc/$pid/cgroup" || continue
    unit=${is:-${unit##*/}}
    # What systemd listens for itself is a socket's.
    [ "$pid" != 1 ] || sockets=${sockets-$(systemctl list-sockets --no-legend --no-pager 2>/dev/null)}
    [ "$pid" != 1 ] || unit=$(printf '%s\n' "$sockets" |
      awk -v end=":$port" 'substr($1, length($1) - length(end) + 1) == end {print $2; exit}')
    echo "$port ${unit:--}"
  done | sort -u
exit 0
