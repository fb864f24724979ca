#!/bin/sh
# Gives nodes their labels. Reads lines `NODE LABEL VALUE` on standard input; VALUE `-` takes the label away.
# Follows limits.sh. Says `changed: …` for what it did.
set -eu
while read -r node label value; do
  [ -n "$node" ] || continue
  key=$(printf %s "$label" | sed 's/\./\\./g')
  actual=$(kube get node "$node" -o "jsonpath={.metadata.labels.$key}")
  [ "$value" != - ] || value=
  [ "$actual" != "$value" ] || continue
  if [ -n "$value" ]; then
    kube label node "$node" --overwrite "$label=$value" >/dev/null
  else
    kube label node "$node" "$label-" >/dev/null
  fi
  echo "changed: $node $label=${value:-none}"
done
