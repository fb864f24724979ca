# shellcheck shell=sh
# fetch_pinned URL SHA256 FILE: the file is there as it was pinned, fetched where it is not. SHA256 is 64 hex digits, or `signed`:
# then it is what the mirror's checksums say, which are signed with the mirror's key. Follows fetch.sh. Reads MIRROR and
# KEYRING. Says `changed: …` for what it did.
sum() { sha256sum <"$1" | cut -d' ' -f1; }

fetch_pinned() {
  expected=$2
  if [ "$expected" = signed ]; then
    expected=$(read_signed_sum "$1") || return
  fi
  [ ! -e "$3" ] || [ "$(sum "$3")" != "$expected" ] || return 0
  mkdir -p "$(dirname "$3")"
  fetch "$1" "$3.new" || { rm -f "$3.new"; return 1; }
  actual=$(sum "$3.new")
  if [ "$actual" != "$expected" ]; then
    rm "$3.new"
    echo "$1: expected SHA-256 $expected, actual $actual; this is not the file that was pinned, changed on the way or by its publisher: compare with the release, look at proxy and source of the spec (gpustack explain wrong-checksum)" >&2
    return 1
  fi
  chmod 0644 "$3.new"
  mv "$3.new" "$3"
  echo "changed: fetched ${3##*/}"
}

# The mirror's list of checksums, where its signature is good.
sums() (
  home=$(mktemp -d)
  trap 'rm -rf "$home"' EXIT
  fetch "$MIRROR/SHA256SUMS" "$home/sums" && fetch "$MIRROR/SHA256SUMS.asc" "$home/signature" || exit
  if ! gpg --homedir "$home" --no-options --batch --quiet --no-default-keyring --keyring "$KEYRING" --trust-model always \
    --verify "$home/signature" "$home/sums" 2>"$home/said"; then
    echo "$MIRROR/SHA256SUMS is not signed with the mirror's key ($(tail -n 1 "$home/said")); build and serve the bundle anew, or correct source.fingerprint of the spec (gpustack explain wrong-checksum)" >&2
    exit 1
  fi
  cat "$home/sums"
)

# The checksum that it has for a URL of the mirror.
read_signed_sum() {
  sum_list=$(sums) || return
  sum_list=$(echo "$sum_list" | awk -v path="${1#"$MIRROR"/}" '$2 == path { print $1 }')
  if [ -z "$sum_list" ]; then
    echo "$MIRROR has no ${1#"$MIRROR"/}: its bundle was built by another release, or without --keda; build it anew (gpustack explain wrong-checksum)" >&2
    return 1
  fi
  echo "$sum_list"
}
