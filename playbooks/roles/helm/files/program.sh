# shellcheck shell=sh
# Puts Helm where only we use it. Follows fetch.sh and pinned.sh. Reads URL, SHA256, VERSION, ARCH.
# Says `changed: …` for what it did.
set -eu
PLACE=/usr/local/lib/gpustack
[ "$("$PLACE/helm" version --template '{{.Version}}' 2>/dev/null)" != "v$VERSION" ] || exit 0
FRESH=$(mktemp -d)
trap 'rm -rf "$FRESH"' EXIT
fetch_pinned "$URL" "$SHA256" "$FRESH/helm.tar.gz" >/dev/null
tar -xzf "$FRESH/helm.tar.gz" -C "$FRESH" "linux-$ARCH/helm"
install -D -m 0755 "$FRESH/linux-$ARCH/helm" "$PLACE/helm.new"
mv "$PLACE/helm.new" "$PLACE/helm"
echo "changed: Helm $VERSION"
