#!/bin/sh
echo '== room'
set --
for path in /var/lib/kubelet /var/lib/containerd /var/log; do
  [ ! -d "$path" ] || set -- "$@" "$path"
done
# The kubelet makes a directory in it for each pod before its sandbox.
pods=$(stat -c %d /var/log/pods 2>/dev/null)
[ -z "$pods" ] || [ "$pods" = "$(stat -c %d /var/log)" ] || set -- "$@" /var/log/pods
[ $# -eq 0 ] || df -k --output=file,size,avail,itotal,iavail "$@" | print_rooms
echo '== mounts'
devices='' seen_devices='' names=''
for path in /etc /var /var/log /var/lib/kubelet /var/lib/containerd /var/lib/etcd; do
  [ -d "$path" ] || continue
  mount=$(findmnt -nro SOURCE,OPTIONS -T "$path") || exit
  mount=${mount##*
}
  options=${mount##* } device=${mount%% *}
  echo "$path ${options%%,*}"
  device=${device%%\[*}
  case "$seen_devices " in *" $device "*) continue ;; esac
  seen_devices="$seen_devices $device"
  devices="$devices $(lsblk -snlo NAME "$device" 2>/dev/null || echo "${device##*/}")"
done
echo '== errors'
for name in $devices; do
  case $name in *[!a-z0-9-]*) ;; *) names="$names|$name" ;; esac
done
output=$(journalctl -k -b -n 3000 -o cat --no-pager 2>/dev/null |
  grep -E "(I/O error|EXT4-fs|XFS|BTRFS|Aborting journal).*\b(${names#|})\b" |
  grep -E 'I/O error|EXT4-fs error|[Rr]emounting filesystem read-only|[Cc]orruption|[Ss]hut|forced readonly|Aborting')
[ -z "$output" ] || printf '%s\n' "$output" | tail -n 3 | sed 's/^/| /'
exit 0
