#!/bin/sh
# Takes the rules with our comment out of ufw, whether it is on or off. Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
command -v ufw >/dev/null || exit 0
rules=$(ufw show added)
printf '%s\n' "$rules" | sed -n "s/^ufw \(.*\) comment 'gpustack-cluster'\$/\1/p" | while read -r rule; do
  case $rule in
    'route allow '*) words="route delete allow ${rule#route allow }" ;;
    *) words="delete $rule" ;;
  esac
  printf '%s\n' "--force $words" | xargs ufw >&2
  echo "changed: $rule"
done
