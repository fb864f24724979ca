#!/bin/sh
# Writes the secrets of receivers, which only Alertmanager can read. The record knows those of earlier runs, which go at the
# end of the play; files of others stay. Reads lines `NAME BASE64` on its standard input. Says `changed: …` for what it did.
set -eu
umask 077
folder=/etc/gpustack-cluster/standalone/receivers
# Of a run that was killed.
rm -f "$folder"/.fresh.??????
while read -r name text; do
  case $name in '' | '#'*) continue ;; esac
  install -d -m 0750 -g prometheus "$folder"
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
