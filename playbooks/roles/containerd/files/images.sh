# shellcheck shell=sh
# The list of images with their digests: that of the mirror, by its signed checksums, or of the version set, on standard
# input. Then the program that containerd asks before it pulls one. Then images that are here with another digest are
# pulled anew, and one that differs still is refused. Follows pinned.sh. Reads MIRROR, KEYRING, PROGRAM (the text of
# image-verifier.sh) and VERIFY (yes or no). Says `changed: …` for what it did.
set -eu
LIST=/etc/gpustack-cluster/images
VERIFIER=/opt/containerd/image-verifier/bin/gpustack
SOCKET=unix:///run/containerd/containerd.sock
FRESH=$(mktemp -d)
trap 'rm -rf "$FRESH"' EXIT

if [ "$VERIFY" != yes ]; then
  for file in "$VERIFIER" "$LIST"; do
    [ ! -e "$file" ] || { rm "$file"; echo "changed: removed $file"; }
  done
  exit 0
fi

# What lies beside the program containerd would run as well: a new one is made elsewhere.
ensure_file() { # FILE MODE, from $FRESH/new
  if [ -f "$1" ] && cmp -s "$FRESH/new" "$1" && [ "$(stat -c '%a %U' "$1")" = "$2 root" ]; then
    return 0
  fi
  mkdir -p "${1%/*}"
  install -m "$2" "$FRESH/new" "$1"
  echo "changed: wrote $1"
}

if [ -n "$MIRROR" ]; then
  pinned "$MIRROR/IMAGES" signed "$LIST"
else
  cat >"$FRESH/new"
  ensure_file "$LIST" 644
fi
printf '%s\n' "$PROGRAM" >"$FRESH/new"
ensure_file "$VERIFIER" 755

[ -S "${SOCKET#unix://}" ] || exit 0
others=$(ctr --timeout "$((30 * ${TIMEOUT_FACTOR:-1}))s" --namespace k8s.io images list | awk 'NR == FNR { wanted[$1] = $2; next }
  $1 in wanted && wanted[$1] != $3 { print $1 }' "$LIST" -)
for image in $others; do
  crictl --runtime-endpoint "$SOCKET" --image-endpoint "$SOCKET" pull "$image" >/dev/null
  echo "changed: pulled $image"
done
