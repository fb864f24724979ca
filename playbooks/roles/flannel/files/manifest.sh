#!/bin/sh
# Fetches Flannel's manifest where it is not there yet as it was pinned. Needs fetch.sh before it.
# Reads URL and SHA256. Says `changed: …` for what it did.
set -eu
file=/etc/kubernetes/gpustack-flannel/kube-flannel.yml
sum() { sha256sum <"$1" | cut -d' ' -f1; }
[ ! -e "$file" ] || [ "$(sum "$file")" != "$SHA256" ] || exit 0
fetch "$URL" "$file.new"
actual=$(sum "$file.new")
if [ "$actual" != "$SHA256" ]; then
  rm "$file.new"
  echo "$URL: expected SHA-256 $SHA256, actual $actual; this is not the file that was pinned, changed on the way or by its publisher: compare with the release, look at proxy and source of the spec" >&2
  exit 1
fi
chmod 0644 "$file.new"
mv "$file.new" "$file"
echo "changed: fetched the manifest"
