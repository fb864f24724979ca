# shellcheck shell=sh
# Applies the provisioner's manifest with our settings. Follows limits.sh, fetch.sh and pinned.sh.
# Reads URL, SHA256, MIRROR, KEYRING. Says `changed: …` for what it did.
set -eu
FOLDER=/etc/kubernetes/gpustack-storage
pinned "$URL" "$SHA256" "$FOLDER/local-path-storage.yaml"
set -- --server-side --force-conflicts --field-manager=gpustack -k "$FOLDER"
if ! kube diff "$@" >/dev/null 2>&1; then
  kube apply "$@" | sed 's/^/changed: /'
fi
