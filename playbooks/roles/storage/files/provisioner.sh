# shellcheck shell=sh
# Applies the provisioner's manifest with our settings. Follows limits.sh, fetch.sh, pinned.sh and apply.sh.
# Reads URL, SHA256, MIRROR, KEYRING. Says `changed: …` for what it did.
set -eu
FOLDER=/etc/kubernetes/gpustack-storage
fetch_pinned "$URL" "$SHA256" "$FOLDER/local-path-storage.yaml"
objects=$(kube kustomize "$FOLDER")
printf '%s\n' "$objects" | apply
