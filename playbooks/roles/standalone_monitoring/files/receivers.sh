#!/bin/sh
# Writes the secrets of receivers, which only Alertmanager can read, and removes those of others. Reads lines `NAME BASE64`
# on its standard input. Says `changed: …` for what it did.
set -eu
umask 077
folder=/etc/gpustack-cluster/standalone/receivers names=' '
while read -r name text; do
  case $name in '' | '#'*) continue ;; esac
  install -d -m 0750 -g prometheus "$folder"
  names="$names$name "
  fresh=$(mktemp /etc/gpustack-cluster/standalone/receivers/.fresh.XXXXXX)
  printf '%s' "$text" | base64 -d >"$fresh"
  if cmp -s "$fresh" "$folder/$name"; then
    rm "$fresh"
  else
    chgrp prometheus "$fresh"
    chmod 0640 "$fresh"
    mv "$fresh" "$folder/$name"
    echo "changed: secret of $name"
  fi
done
for file in "$folder"/* "$folder"/.fresh.*; do
  [ -e "$file" ] || continue
  case $names in *" ${file##*/} "*) continue ;; esac
  rm "$file"
  echo "changed: removed $file"
done
