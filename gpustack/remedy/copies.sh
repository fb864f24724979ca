#!/bin/sh
# The copies that a fix keeps on a host, in /var/lib/gpustack-cluster/fixes/ID: a folder for each fix, readable by root alone.
# Reads DO, ID and what that one needs; says lines `WORD …`, `done` last. Is sent to a host by copies.py.
#
#   begin    copies of PLACES, states of UNITS, values of KEYS, objects of KINDS (on a control plane); ABOUT says of what
#   finish   keeps the copies of what is another now, and says what that is
#   last     says the newest fix, and what of it is another now than the fix had left it
#   undo     puts the copies back and removes what was not there; units and keys as they were
#   objects  the objects as they were before, as the fix had left them and as they are now, a line each
#   replace  REPLACE, CREATE and DELETE are objects (JSON, or empty)
#   forget   the folder goes
set -eu
PATH=${TOOLS:+$TOOLS:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
KUBECONFIG=/etc/kubernetes/admin.conf
export LC_ALL KUBECONFIG
umask 077
ALL=${ALL:-/var/lib/gpustack-cluster/fixes}
KEPT=5
TAB=$(printf '\t')
# Written by daemons, at any time; and what a package makes of its own files.
NOT='etc/cni/net.d etc/kubernetes/pki etc/mtab etc/resolv.conf etc/ld.so.cache etc/.pwd.lock etc/ssl/certs etc/machine-id'
# Keys and passwords that no remedy changes.
NOT="$NOT etc/shadow etc/shadow- etc/gshadow etc/gshadow- etc/ssh etc/ssl/private etc/kubernetes/*.conf"

# `path TAB kind mode uid gid sha256-or-target` of everything below the places.
state() {
  cd "${ROOT:-/}"
  there=
  for path in $PLACES; do [ ! -e "$path" ] || there="$there $path"; done
  [ -n "$there" ] || return 0
  # The patterns are find's.
  set -f
  prune=
  for path in $NOT; do prune="$prune -path $path -prune -o"; done
  # shellcheck disable=SC2086 # words
  find $there -xdev $prune ! -name "*[$TAB
]*" -printf '%p\t%y %m %U %G\t%l\n' | sort >"$AT/meta"
  set +f
  awk -F"$TAB" '$2 ~ /^f/ { printf "%s%c", $1, 0 }' "$AT/meta" | xargs -0 -r sha256sum |
    sed "s/^\([0-9a-f]*\)  \(.*\)$/\2$TAB\1/" | sort >"$AT/sums"
  join -t "$TAB" -a 1 "$AT/meta" "$AT/sums"
  rm "$AT/meta" "$AT/sums"
}

units() {
  for unit in $UNITS; do
    echo "$unit $(systemctl show --property ActiveState --value "$unit" 2>/dev/null || echo unknown)"
  done
}

keys() {
  for key in $KEYS; do
    value=$(sysctl -n "$key" 2>/dev/null | tr '\t' ' ') || continue
    [ -z "$value" ] || echo "$key $value"
  done
}

# Of the kinds that this cluster knows, in one line.
objects() {
  known=$(limited 60 kubectl api-resources --output name 2>/dev/null) || :
  some=
  for kind in $KINDS; do
    ! printf '%s\n' "$known" | grep -q "^$kind\(\.[a-z.0-9]*\)\?\$" || some="$some,$kind"
  done
  limited 100 kubectl get "${some#,}" --all-namespaces --output json >"$AT/list"
  tr -d '\n' <"$AT/list"
  echo
  rm "$AT/list"
}

# Paths whose lines are not the same in two states.
differing() { comm -3 "$1" "$2" | sed "s/^$TAB//" | cut -f 1 | sort -u; }

begin() {
  mkdir -p "$ALL"
  # shellcheck disable=SC2012 # the names are ours
  ls "$ALL" | sort | head -n -$((KEPT - 1)) | while read -r old; do rm -rf "${ALL:?}/$old"; done
  mkdir "$AT"
  printf '%s\n' "$ABOUT" >"$AT/about"
  printf '%s\n' "$PLACES" >"$AT/places"
  printf '%s\n' "$UNITS" >"$AT/names"
  printf '%s\n' "$KEYS" >"$AT/sysctls"
  printf '%s\n' "$KINDS" >"$AT/kinds"
  state >"$AT/before"
  cut -f 1 "$AT/before" | tar -C "${ROOT:-/}" --no-recursion --verbatim-files-from --files-from - -cf "$AT/copies.tar"
  units >"$AT/units"
  keys >"$AT/keys"
  [ -z "$KINDS" ] || objects >"$AT/objects"
  : >"$AT/begun"
}

remembered() {
  PLACES=$(cat "$AT/places") UNITS=$(cat "$AT/names") KEYS=$(cat "$AT/sysctls") KINDS=$(cat "$AT/kinds")
}

finish() {
  remembered
  state >"$AT/now"
  differing "$AT/before" "$AT/now" >"$AT/changed"
  mkdir -p "$AT/kept"
  cut -f 1 "$AT/before" | comm -12 - "$AT/changed" >"$AT/wanted"
  # An empty list would mean everything.
  [ ! -s "$AT/wanted" ] ||
    tar -C "$AT/kept" --no-recursion --verbatim-files-from --files-from "$AT/wanted" -xpf "$AT/copies.tar"
  # What the fix left: of the changed paths alone.
  join -t "$TAB" "$AT/changed" "$AT/now" >"$AT/after"
  [ -z "$KINDS" ] || objects >"$AT/objects.after"
  units >"$AT/units.after"
  keys >"$AT/keys.after"
  mv "$AT/begun" "$AT/finished"
  rm "$AT/copies.tar" "$AT/now" "$AT/wanted"
  said
}

said() {
  sed 's/^/file /' "$AT/changed"
  differing_words unit "$AT/units" "$AT/units.after"
  differing_words key "$AT/keys" "$AT/keys.after"
}

# `WORD name before → after`
differing_words() {
  while read -r name before; do
    after=$(sed -n "s/^$name //p" "$3")
    [ "$before" = "$after" ] || echo "$1 $name $before -> $after"
  done <"$2"
}

last() {
  [ -d "$ALL" ] || return 0
  # shellcheck disable=SC2012 # the names are ours
  ID=$(ls "$ALL" | sort | tail -n 1)
  [ -n "$ID" ] || return 0
  AT=$ALL/$ID
  if [ ! -e "$AT/begun" ] && [ ! -e "$AT/finished" ]; then
    # Broken off before anything was done.
    rm -rf "$AT"
    last
    return
  fi
  echo "id $ID"
  sed 's/^/about /' "$AT/about"
  [ -e "$AT/finished" ] || { echo unfinished; finish; return; }
  said
  remembered
  state >"$AT/now"
  cut -f 1 "$AT/changed" | join -t "$TAB" - "$AT/now" >"$AT/here" || :
  differing "$AT/after" "$AT/here" >"$AT/others"
  # What is as it was before the fix has been rolled back: by an undo that was interrupted, or by hand.
  join -t "$TAB" "$AT/others" "$AT/now" >"$AT/here" || :
  join -t "$TAB" "$AT/others" "$AT/before" >"$AT/there" || :
  differing "$AT/there" "$AT/here" | sed 's/^/moved /'
  rm "$AT/now" "$AT/here" "$AT/there" "$AT/others"
}

undo() {
  remembered
  cd "${ROOT:-/}"
  # What was not there: files first, then their folders.
  cut -f 1 "$AT/before" | comm -13 - "$AT/changed" | sort -r | while read -r path; do
    if [ -d "$path" ] && [ ! -L "$path" ]; then
      rmdir "$path" 2>/dev/null || continue
    elif [ -e "$path" ] || [ -L "$path" ]; then
      rm -f "$path"
    else
      continue
    fi
    echo "removed /$path"
  done
  cut -f 1 "$AT/before" | comm -12 - "$AT/changed" >"$AT/wanted"
  [ ! -s "$AT/wanted" ] ||
    tar -C "$AT/kept" --no-recursion --verbatim-files-from --files-from "$AT/wanted" -cf - | tar -C "${ROOT:-/}" -xpf -
  sed 's#^#restored /#' "$AT/wanted"
  heard
  while read -r key value; do
    [ "$(sysctl -n "$key" | tr '\t' ' ')" = "$value" ] || { sysctl -qw "$key=$value"; echo "set $key = $value"; }
  done <"$AT/keys"
  while read -r unit before; do
    now=$(systemctl show --property ActiveState --value "$unit" 2>/dev/null) || continue
    case $before/$now in
      active/active | inactive/inactive | unknown/*) ;;
      active/*) systemctl start "$unit"; echo "started $unit" ;;
      inactive/active) systemctl stop "$unit"; echo "stopped $unit" ;;
    esac
  done <"$AT/units"
}

# Who reads the files that were put back. A daemon that does not start with what it had is as it was.
heard() {
  if grep -q '^\(etc\|usr/lib\)/systemd/system' "$AT/changed"; then systemctl daemon-reload; echo 'reloaded systemd'; fi
  if grep -q '^etc/containerd/' "$AT/changed"; then again containerd; fi
  if grep -q '^\(etc/default/kubelet\|etc/kubernetes/kubelet\|var/lib/kubelet/\)' "$AT/changed"; then again kubelet; fi
  if grep -q '^etc/NetworkManager/' "$AT/changed"; then systemctl reload NetworkManager || :; echo 'reloaded NetworkManager'; fi
  if grep -q '^etc/firewalld/' "$AT/changed"; then firewall-cmd --quiet --reload || :; echo 'reloaded firewalld'; fi
  if grep -q '^etc/ufw/' "$AT/changed" && ufw status | grep -q '^Status: active'; then
    ufw reload >/dev/null || :
    echo 'reloaded ufw'
  fi
}

again() {
  systemctl --quiet is-active "$1" || return 0
  systemctl restart "$1" || :
  echo "restarted $1"
}

AT=$ALL/${ID:-}
# The script itself comes on standard input, and no program may read of it.
{
  case $DO in
    begin) begin ;;
    finish) finish ;;
    last) last ;;
    undo) undo ;;
    objects)
      remembered
      [ -z "$KINDS" ] || { cat "$AT/objects" "$AT/objects.after"; objects; }
      ;;
    replace)
      [ -z "$REPLACE" ] || printf '%s' "$REPLACE" | limited 100 kubectl replace -f -
      [ -z "$CREATE" ] || printf '%s' "$CREATE" | limited 100 kubectl create -f -
      [ -z "$DELETE" ] || printf '%s' "$DELETE" | limited 100 kubectl delete --ignore-not-found -f -
      ;;
    forget)
      rm -rf "${AT:?}"
      # Folders of ours that are empty now.
      rmdir "$ALL" "${ALL%/*}" 2>/dev/null || :
      ;;
  esac
} </dev/null
echo 'done'
