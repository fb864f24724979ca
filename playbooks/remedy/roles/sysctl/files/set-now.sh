#!/bin/sh
# Sets PAIRS (key=value, in words) in the running kernel. Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
for pair in $PAIRS; do
  key=${pair%%=*}
  [ "$(sysctl -n "$key")" != "${pair#*=}" ] || continue
  sysctl -qw "$pair"
  echo "changed: set $key"
done
