#!/bin/sh
# Lets apt know our repositories, each trusted by one key that must be the expected one.
# Reads ARCH (as dpkg names it) and REPOSITORIES: a line per repository, of the words NAME URI SUITE COMPONENTS KEY
# FINGERPRINT END PACKAGES FILE; COMPONENTS is `-` when there are none, KEY a URL, FINGERPRINT 40 hex digits; END, in
# seconds of the epoch, is when the key is known to end, 0 where that is not known; PACKAGES are the names of all that apt
# may take from it, with commas between them, `-` for any; FILE may be missing: a source of somebody else with this place
# and key, beside which apt would take none of ours.
# Says `changed: …` for what it did. Goes between fetch.sh and apt-install.sh.
set -eu
HEADER='# Written by gpustack; a change here is undone by the next install.'

# Fingerprints of primary keys; they stand on the line after `pub`. Expired and revoked ones are none.
# gpg would make folders of its own without these options. Of an expired key it says nothing without a trust database.
keys() { # FILE
  list_keys "$1" | awk -F: '$1 == "pub" {valid = $2 !~ /[er]/; primary = 1}
    $1 == "fpr" && primary {print valid ? $10 : "expired:" $10; primary = 0}'
}

# When the first primary key ends; far away where it does not.
end() { # FILE
  list_keys "$1" | awk -F: '$1 == "pub" {print $7 == "" ? 99999999999 : $7; exit}'
}

list_keys() {
  [ -e "$FRESH/trustdb.gpg" ] || gpg --homedir "$FRESH" --no-options --batch --quiet --import-ownertrust </dev/null
  gpg --homedir "$FRESH" --no-options --no-keyring --trust-model always --batch --with-colons --show-keys "$1" 2>/dev/null
}

# A vendor prolongs a key under the same fingerprint: one that has ended, or ends before END, is fetched anew.
ensure_key() { # KEYRING URL FINGERPRINT END
  [ ! -e "$1" ] || [ "$(keys "$1")" != "$3" ] || [ "$(end "$1")" -lt "$4" ] || return 0
  fetch "$2" "$FRESH/key" || return
  fingerprints=$(keys "$FRESH/key" | tr '\n' ' ')
  if [ "$fingerprints" != "$3 " ]; then
    echo "$2: expected the key $3 and no other, actual ${fingerprints:-none}; where that is right, set fingerprints of the spec (gpustack explain repository-key-refused)" >&2
    return 1
  fi
  # apt takes an armoured key only under another name.
  if grep -q 'BEGIN PGP' "$FRESH/key"; then
    gpg --homedir /nonexistent --no-options --batch --yes --dearmor -o "$FRESH/keyring" "$FRESH/key"
  else
    cp "$FRESH/key" "$FRESH/keyring"
  fi
  install -D -m 0644 "$FRESH/keyring" "$1"
  echo "changed: key $3"
}

# One source that apt cannot take, and it takes none of any file: then ours goes again.
ensure_source() { # FILE TEXT
  [ "$(cat "$1" 2>/dev/null)" != "$2" ] || return 0
  printf '%s\n' "$2" >"$FRESH/source"
  install -m 0644 "$FRESH/source" "$1"
  if ! apt-get indextargets >/dev/null 2>"$FRESH/refused"; then
    rm "$1"
    echo "with $1 apt would read no source at all: $(sed -n 's/^E: //p' "$FRESH/refused" | head -n 1) (gpustack explain apt-sources-refused)" >&2
    return 1
  fi
  echo "changed: $1"
}

# A repository could bring any package in a newer version, openssh-server among them. apt takes the named ones from it, and
# others only where no other source has them. Its preferences know a source by its host name alone: where another file
# names that host as well, a mirror of everything for instance, they would hold for the packages of that file, too.
ensure_preferences() { # NAME URI PACKAGES
  preferences=/etc/apt/preferences.d/gpustack-$1.pref host=${2#*://} host=${host%%[:/]*}
  if [ "$3" = - ] || is_named_elsewhere "$1" "$host"; then
    [ ! -e "$preferences" ] || { rm "$preferences"; echo "changed: removed $preferences"; }
    return 0
  fi
  printf '%s\n' "$HEADER" 'Package: *' "Pin: origin \"$host\"" 'Pin-Priority: 100' '' \
    "Package: $(printf '%s' "$3" | tr , ' ')" "Pin: origin \"$host\"" 'Pin-Priority: 500' >"$FRESH/preferences"
  ! cmp -s "$FRESH/preferences" "$preferences" || return 0
  install -D -m 0644 "$FRESH/preferences" "$preferences"
  echo "changed: $preferences"
}

is_named_elsewhere() { # NAME HOST
  find /etc/apt/sources.list /etc/apt/sources.list.d -type f ! -name "gpustack-$1.sources" \
    -exec grep -qsiF -e "//$2/" -e "//$2:" -e "@$2/" -e "@$2:" {} \; -print 2>/dev/null | grep -q .
}

FRESH=$(mktemp -d)
trap 'rm -rf "$FRESH"' EXIT
while read -r name uri suite components key fingerprint end packages file; do
  [ -n "$name" ] || continue
  keyring=/etc/apt/keyrings/gpustack-$name.gpg list=/etc/apt/sources.list.d/gpustack-$name.sources
  if [ -n "$file" ]; then
    for path in "$list" "$keyring" "/etc/apt/preferences.d/gpustack-$name.pref"; do
      [ ! -e "$path" ] || { rm "$path"; echo "changed: removed $path, as $file says the same"; }
    done
    continue
  fi
  ensure_key "$keyring" "$key" "$fingerprint" "$end"
  [ "$components" = - ] && components= || components="
Components: $components"
  ensure_source "$list" "$HEADER
Types: deb
URIs: $uri
Suites: $suite$components
Architectures: $ARCH
Signed-By: $keyring"
  ensure_preferences "$name" "$uri" "$packages"
done <<EOF
$REPOSITORIES
EOF
