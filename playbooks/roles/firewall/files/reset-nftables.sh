#!/bin/sh
# Takes our chains and the jumps to them out of the tables of the host, and what loads them at boot.
# Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
cd /etc/systemd/system
if [ -e nftables.service.d/gpustack.conf ]; then
  rm nftables.service.d/gpustack.conf
  rmdir --ignore-fail-on-non-empty nftables.service.d
  systemctl daemon-reload
  echo "changed: nftables.service loads ours no more"
fi
if [ -e /usr/local/lib/gpustack/firewall-nftables ]; then
  rm /usr/local/lib/gpustack/firewall-nftables
  rmdir --ignore-fail-on-non-empty /usr/local/lib/gpustack
  echo "changed: removed /usr/local/lib/gpustack/firewall-nftables"
fi

command -v nft >/dev/null || exit 0
tables=$(nft list tables)
printf '%s\n' "$tables" | while read -r _ family table _; do
  case $family in ip | inet) ;; *) continue ;; esac
  rules=$(nft -a list table "$family" "$table")
  found=$(printf '%s\n' "$rules" | awk -v at="$family $table" '
    $1 == "chain" { chain = $2 }
    $1 == "chain" && /^[ \t]*chain gpustack_(in|forward|out) / { ours = ours "flush chain " at " " $2 "\ndelete chain " at " " $2 "\n" }
    $1 == "jump" && $2 ~ /^gpustack_(in|forward|out)$/ { print "delete rule " at " " chain " handle " $NF }
    END { printf "%s", ours }')
  [ -n "$found" ] || continue
  printf '%s\n' "$found" | nft -f -
  echo "changed: our chains in table $family $table"
done
