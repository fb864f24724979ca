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
  rm -f "$LIST.new" "${VERIFIER%/*/*}/gpustack.new"
  for file in "$VERIFIER" "$LIST"; do
    [ ! -e "$file" ] || { rm "$file"; echo "changed: removed $file"; }
  done
  exit 0
fi

# At each moment there is the file as it was or as it will be, also after a power cut.
put_file() { # SOURCE FILE MODE BESIDE: FILE is as SOURCE; BESIDE is a name in the same file system
  mkdir -p "${2%/*}"
  install -m "$3" "$1" "$4"
  sync "$4"
  mv "$4" "$2"
  sync "${2%/*}"
}

is_right() { # SOURCE FILE MODE
  [ -f "$2" ] && cmp -s "$1" "$2" && [ "$(stat -c '%a %U' "$2")" = "$3 root" ]
}

# As the verifier reads it: a last line with the number of all others.
is_whole() {
  awk '/^# end [0-9]+$/ { total = $3; at = NR } END { exit !(at == NR && NR && total == NR - 1) }' "$1"
}

NEW=$FRESH/${LIST##*/}
if [ -n "$MIRROR" ]; then
  [ ! -e "$LIST" ] || cp "$LIST" "$NEW"
  fetch_pinned "$MIRROR/IMAGES" signed "$NEW"
else
  cat >"$NEW"
  is_right "$NEW" "$LIST" 644 || echo "changed: wrote $LIST"
fi
if ! is_whole "$NEW"; then
  echo "the list of images of ${MIRROR:-the version set} has no last line '# end NUMBER'; build and serve the bundle anew with this release (gpustack explain image-changed)" >&2
  exit 1
fi
is_right "$NEW" "$LIST" 644 || put_file "$NEW" "$LIST" 644 "$LIST.new"
printf '%s\n' "$PROGRAM" >"$FRESH/program"
# What lies beside the program containerd would run as well: a new one is made elsewhere.
if ! is_right "$FRESH/program" "$VERIFIER" 755; then
  put_file "$FRESH/program" "$VERIFIER" 755 "${VERIFIER%/*/*}/gpustack.new"
  echo "changed: wrote $VERIFIER"
fi

[ -S "${SOCKET#unix://}" ] || exit 0
other_images=$(ctr --timeout "$((30 * ${TIMEOUT_FACTOR:-1}))s" --namespace k8s.io images list | awk 'NR == FNR { wanted[$1] = $2; next }
  $1 in wanted && wanted[$1] != $3 { print $1 }' "$LIST" -)
for image in $other_images; do
  crictl --runtime-endpoint "$SOCKET" --image-endpoint "$SOCKET" pull "$image" >/dev/null
  echo "changed: pulled $image"
done
