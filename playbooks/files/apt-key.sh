#!/bin/sh
# Brings a repository's signing key onto the host, trusted only when it is the one expected.
# Reads KEYRING (a path), KEY (a URL), FINGERPRINT (40 hex digits). Says `changed` when it wrote the keyring.
set -eu
show() {
  gpg --homedir /nonexistent --no-options --no-keyring --trust-model always --batch --with-colons --show-keys "$1" 2>/dev/null
}
# Primary keys that are neither expired nor revoked; the fingerprint stands on the line after `pub`.
valid() {
  show "$1" | awk -F: '$1 == "pub" {wanted = $2 !~ /[er]/} $1 == "fpr" && wanted {print $10; wanted = 0}'
}
primary() {
  show "$1" | awk -F: '$1 == "pub" {wanted = 1} $1 == "fpr" && wanted {print $10; wanted = 0}'
}
if [ -e "$KEYRING" ] && [ "$(primary "$KEYRING")" = "$FINGERPRINT" ] && [ "$(valid "$KEYRING")" = "$FINGERPRINT" ]; then
  exit 0
fi
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
curl -fsSL --retry 3 --max-time 60 -o "$fresh/key" "$KEY"
if [ "$(primary "$fresh/key")" != "$FINGERPRINT" ]; then
  echo "$KEY has the keys $(primary "$fresh/key" | tr '\n' ' '), expected only $FINGERPRINT" >&2
  exit 1
fi
[ "$(valid "$fresh/key")" = "$FINGERPRINT" ] || { echo "The key $FINGERPRINT of $KEY has expired or was revoked." >&2; exit 1; }
if grep -q 'BEGIN PGP' "$fresh/key"; then
  gpg --homedir /nonexistent --no-options --batch --yes --dearmor -o "$fresh/keyring" "$fresh/key"
else
  cp "$fresh/key" "$fresh/keyring"
fi
install -D -m 0644 "$fresh/keyring" "$KEYRING"
echo changed
