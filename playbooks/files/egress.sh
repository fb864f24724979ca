#!/bin/sh
# Writes files that name a proxy or hold a login, each whole or not at all, and removes those that are no longer wanted.
# Reads lines `PATH MODE BASE64` on standard input, which is in no list of processes; MODE `-` removes the file.
# Says `changed: …` for what it did.
set -eu
umask 077
while read -r path mode text; do
  [ -n "$path" ] || continue
  if [ "$mode" = - ]; then
    rm -f "$path.new"
    [ -e "$path" ] || continue
    rm "$path"
    echo "changed: removed $path"
    continue
  fi
  folder=${path%/*}
  [ -d "$folder" ] || install -d -m 0755 "$folder"
  printf '%s' "$text" | base64 -d >"$path.new"
  if cmp -s "$path.new" "$path" && [ "$(stat -c '%04a %U' "$path")" = "$mode root" ]; then
    rm "$path.new"
    continue
  fi
  chmod "$mode" "$path.new"
  mv "$path.new" "$path"
  echo "changed: wrote $path"
done
