#!/bin/sh
# Says which of PAIRS (key=value, in words) a file sets to another value at boot. The last file counts.
set -eu
PATH=/usr/lib/systemd:/lib/systemd:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
settings=$(systemd-sysctl --cat-config) || exit 1
for pair in $PAIRS; do
  key=${pair%%=*}
  last=$(printf '%s\n' "$settings" | sed 's/^-//; s/[ \t]*=[ \t]*/=/' | tr / . |
    awk -F= -v key="$key" '$1 == key { value = $2 } END { print value }')
  [ -z "$last" ] || [ "$last" = "${pair#*=}" ] || echo "$pair"
done
