#!/bin/sh
echo '== room'
set --
for path in /var/lib/kubelet /var/lib/containerd /var/log; do
  [ ! -d "$path" ] || set -- "$@" "$path"
done
[ $# -eq 0 ] || df -k --output=file,size,avail,itotal,iavail "$@" | while read -r path size free inodes left; do
  case $path in /*) ;; *) continue ;; esac
  for count in "$size" "$free" "$inodes" "$left"; do
    [ "$count" != - ] || count=0
    path="$path $count"
  done
  echo "$path"
done
echo '== mounts'
set --
for path in /etc /var /var/log /var/lib/kubelet /var/lib/containerd /var/lib/etcd; do
  [ ! -d "$path" ] || { cd -P "$path" && set -- "$@" "$path=$PWD"; } || exit
done
cd /
mounts=$(findmnt -nro TARGET,SOURCE,OPTIONS) || exit
# Of all mounts whose target a path is below, it is on the longest one, of equal ones on the last.
mounts=$(printf '%s\n' "$@" "$mounts" | awk -v paths=$# '
  NR <= paths {
    path[NR] = substr($0, 1, index($0, "=") - 1)
    real[NR] = substr($0, index($0, "=") + 1) "/"
    next
  }
  {
    target = $1
    gsub(/\\x20/, " ", target)
    sub("/*$", "/", target)
    for (i = 1; i <= paths; i++) if (index(real[i], target) == 1 && longest[i] <= length(target)) {
      longest[i] = length(target)
      mount[i] = $NF " " $2
    }
  }
  END {for (i = 1; i <= paths; i++) print path[i], mount[i]}')
devices='' seen='' names=''
while read -r path options device; do
  echo "$path ${options%%,*}"
  device=${device%%\[*}
  case "$seen " in *" $device "*) continue ;; esac
  seen="$seen $device"
  devices="$devices $(lsblk -snlo NAME "$device" 2>/dev/null || echo "${device##*/}")"
done <<MOUNTS
$mounts
MOUNTS
echo '== errors'
for name in $devices; do
  case $name in *[!a-z0-9-]*) ;; *) names="$names|$name" ;; esac
done
output=$(journalctl -k -b -n 3000 -o cat --no-pager 2>/dev/null |
  grep -E "(I/O error|EXT4-fs|XFS|BTRFS|Aborting journal).*\b(${names#|})\b" |
  grep -E 'I/O error|EXT4-fs error|[Rr]emounting filesystem read-only|[Cc]orruption|[Ss]hut|forced readonly|Aborting')
[ -z "$output" ] || printf '%s\n' "$output" | tail -n 3 | cut -c1-200 | sed 's/^/| /'
exit 0
