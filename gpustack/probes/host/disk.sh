#!/bin/sh
echo '== room'
set --
for path in /var/lib/kubelet /var/lib/containerd /var/log; do
  [ ! -d "$path" ] || set -- "$@" "$path"
done
[ $# -eq 0 ] || { printf '%s\n' "$@"; df -Pk "$@"; df -Pi "$@"; } | awk -v paths=$# '
  NR <= paths {line[NR] = $0; next}
  /^Filesystem / {at = 0; next}
  {line[++at] = line[at] " " ($2 == "-" ? 0 : $2) " " ($4 == "-" ? 0 : $4)}
  END {for (at = 1; at <= paths; at++) print line[at]}'
echo '== mounts'
devices='' seen=''
for path in /etc /var /var/log /var/lib/kubelet /var/lib/containerd /var/lib/etcd; do
  [ -d "$path" ] || continue
  mount=$(findmnt -nro SOURCE,OPTIONS -T "$path") || exit
  mount=${mount##*
}
  options=${mount##* } device=${mount%% *}
  echo "$path ${options%%,*}"
  device=${device%%\[*}
  case "$seen " in *" $device "*) continue ;; esac
  seen="$seen $device"
  devices="$devices $(lsblk -snlo NAME "$device" 2>/dev/null || echo "${device##*/}")"
done
echo '== errors'
names=$(echo "$devices" | tr ' ' '\n' | sort -u | grep -E '^[a-z0-9-]+$' | tr '\n' '|')
journalctl -k -b -n 3000 -o cat --no-pager 2>/dev/null |
  grep -E "(I/O error|EXT4-fs|XFS|BTRFS|Aborting journal).*\b(${names%|})\b" |
  grep -E 'I/O error|EXT4-fs error|[Rr]emounting filesystem read-only|[Cc]orruption|[Ss]hut|forced readonly|Aborting' |
  tail -n 3 | cut -c1-200 | sed 's/^/| /'
exit 0
