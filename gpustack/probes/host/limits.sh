#!/bin/sh
echo '== rooms'
df -k -t tmpfs --output=file,size,avail,itotal,iavail /run /tmp 2>/dev/null | print_rooms
echo '== units'
for unit in containerd kubelet; do
  shown=$(systemctl show -p MainPID,TasksCurrent,TasksMax "$unit") || exit
  main='' tasks='' most=''
  while IFS='=' read -r name value; do
    case $name in MainPID) main=$value ;; TasksCurrent) tasks=$value ;; TasksMax) most=$value ;; esac
  done <<SHOWN
$shown
SHOWN
  echo "$unit TasksMax $tasks $most"
  [ -r "/proc/$main/limits" ] || continue
  limit=$(awk '/^Max open files/ {print $4}' "/proc/$main/limits" 2>/dev/null)
  files=$(find "/proc/$main/fd" -mindepth 1 2>/dev/null | wc -l)
  echo "$unit LimitNOFILE $files $limit"
done
