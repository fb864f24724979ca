#!/bin/sh
echo '== rooms'
df -k -t tmpfs --output=file,size,avail,itotal,iavail /run /tmp 2>/dev/null | print_rooms
echo '== units'
for unit in containerd kubelet; do
  properties=$(systemctl show -p MainPID,TasksCurrent,TasksMax "$unit") || exit
  main='' tasks='' maximum=''
  while IFS='=' read -r name value; do
    case $name in MainPID) main=$value ;; TasksCurrent) tasks=$value ;; TasksMax) maximum=$value ;; esac
  done <<SHOWN
$properties
SHOWN
  echo "$unit TasksMax $tasks $maximum"
  [ -r "/proc/$main/limits" ] || continue
  limit=$(awk '/^Max open files/ {print $4}' "/proc/$main/limits" 2>/dev/null)
  files=$(find "/proc/$main/fd" -mindepth 1 2>/dev/null | wc -l)
  echo "$unit LimitNOFILE $files $limit"
done
echo '== kernel'
cd /proc || exit
{
  read -r _ _ _ threads _ <loadavg
  for name in kernel.threads-max kernel.pid_max; do
    echo "$name ${threads#*/} $(cat "sys/kernel/${name#kernel.}")"
  done
  # The shell reads one byte at a time, of which such a file has only the first.
  read -r files _ maximum <<FILES
$(cat sys/fs/file-nr)
FILES
  [ -z "$maximum" ] || echo "fs.file-max $files $maximum"
  echo "fs.aio-max-nr $(cat sys/fs/aio-nr) $(cat sys/fs/aio-max-nr)"
  awk '$1 == "0:" {sub("/", " ", $4); print "kernel.keys.root_maxkeys", $4}' key-users
  awk '$1 == "memory" && $4 == 1 {print "memory-cgroups", $3, 65535}' cgroups
  [ ! -r sys/net/netfilter/nf_conntrack_max ] ||
    echo "net.netfilter.nf_conntrack_max $(cat sys/net/netfilter/nf_conntrack_count) $(cat sys/net/netfilter/nf_conntrack_max)"
  [ ! -r sys/net/ipv4/neigh/default/gc_thresh3 ] ||
    echo "net.ipv4.neigh.default.gc_thresh3 $(ip -4 neigh show | grep -vc PERMANENT) $(cat sys/net/ipv4/neigh/default/gc_thresh3)"
  read -r low high <<RANGE
$(cat sys/net/ipv4/ip_local_port_range)
RANGE
  [ -z "$high" ] ||
    ss -Htan | awk -v low="$low" -v high="$high" '{n = split($4, parts, ":"); port = parts[n]
      if (port + 0 < low || high < port + 0 || port in ports) next
      ports[port]
      used++}
      END {print "net.ipv4.ip_local_port_range", used + 0, high - low + 1}'
  awk 'FILENAME ~ /sockstat/ {if ($1 == "TCP:") used = $NF; next} {print "net.ipv4.tcp_mem", used, $3}' net/sockstat sys/net/ipv4/tcp_mem
} 2>/dev/null | grep -E '^[^ ]+ [0-9]{1,18} [0-9]{1,18}$'
exit 0
