#!/bin/sh
# The records that fixes leave on a host, in /var/lib/gpustack-cluster/fixes/ID: a folder for each fix, readable by root
# alone. Reads DO, ID and what that operation needs; prints lines with tabs between the words, `done` last. Is sent to a host by
# copies.py, and follows limits.sh, states.sh, objects.sh and restore.sh.
#
#   begin    records the states of THINGS (lines KIND NAME RENDERED) with copies of files, and objects: those of NAMES
#            (documents of JSON) and of the Helm release RELEASE (NAMESPACE NAME). ABOUT are lines for the record
#   finish   adds to the record the states that the fix left
#   read     prints the record of ID, or of the newest fix, with the states as they are now
#   objects  prints the objects before the fix, after it and now, each a line of JSON, or of nothing
#   restore  takes CHANGES (lines KIND NAME BEFORE NOW CERTAIN) back, each only if its state is still NOW; of a file that is not
#            certain (`no`) to be what the play wrote, a copy is kept in `after`
#   replace  replaces objects (REPLACE, lines LABEL JSON) and deletes objects (DELETE, lines LABEL PATH OPTIONS), each only
#            if the API still has the version that they name
#   close    keeps the folder for a person to look at, and no longer counts it as a fix that can be rolled back
#   forget   removes the folder
#
# A record is complete with its last line, `end`. It is written beside its place, synced and renamed, and nothing is changed
# before it is there. Without it a fix has not begun.
set -eu
PATH=${TOOLS:+$TOOLS:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
KUBECONFIG=/etc/kubernetes/admin.conf
HELM=${HELM:-/usr/local/lib/gpustack/helm}
export LC_ALL KUBECONFIG
umask 077
ROOT=${ROOT:-}
FIXES=${FIXES:-/var/lib/gpustack-cluster/fixes}
LIMIT=5
TAB=$(printf '\t')

# Copies a file and prints its state. What changes at this moment is copied again, and is unknown at last.
copy() { # NAME
  for _ in 1 2 3; do
    before=$(file_state "$ROOT$1")
    case $before in 'file '* | 'link '*) ;; *) break ;; esac
    mkdir -p "$FIX/before${1%/*}"
    rm -f "$FIX/before$1"
    if cp -aT -- "$ROOT$1" "$FIX/before$1" && [ "$before" = "$(file_state "$ROOT$1")" ] &&
      [ "${before%% via /*}" = "$(file_state "$FIX/before$1")" ]; then break; fi
    before=unknown
  done
  printf '%s\n' "$before"
}

record_thing() { # KIND NAME RENDERED
  if [ "$1" = file ]; then before=$(copy "$2"); else before=$(state "$1" "$2"); fi
  if [ "$before" = unknown ]; then
    echo "the state of $1 $2 cannot be read" >&2
    return 1
  fi
  printf 'thing\t%s\t%s\t%s\t-\t%s\n' "$1" "$2" "$before" "$3"
}

record_pattern() ( # NAME RENDERED
  IFS=
  for path in $ROOT$1; do
    case $path in *"$TAB"* | *'
'*) continue ;; esac
    [ ! -e "$path" ] && [ ! -L "$path" ] || record_thing file "${path#"$ROOT"}" "$2" || exit
  done
)

record_things() {
  printf '%s\n' "$THINGS" >"$FIX/things"
  while IFS=$TAB read -r kind name is_rendered; do
    case $kind in
      '') ;;
      pattern) record_pattern "$name" "$is_rendered" ;;
      *) record_thing "$kind" "$name" "$is_rendered" ;;
    esac
  done <"$FIX/things"
  rm "$FIX/things"
}

write_record() {
  echo end >>"$FIX/record.new"
  find "$FIX" \( -type f -o -type d \) -print0 | xargs -0 sync
  mv "$FIX/record.new" "$FIX/record"
  sync "$FIX" "$FIXES"
}

machine() { cat "$ROOT/etc/machine-id" 2>/dev/null || echo unknown; }

begin() {
  mkdir -p "$FIXES"
  # shellcheck disable=SC2012 # the names are ours
  ls "$FIXES" | sort | head -n -$((LIMIT - 1)) | while read -r old; do rm -rf --one-file-system "${FIXES:?}/$old"; done
  mkdir "$FIX"
  printf '%s\nmachine\t%s\nstate\tbegun\n' "$ABOUT" "$(machine)" >"$FIX/record.new"
  record_things >>"$FIX/record.new"
  name_objects
  if [ -s "$FIX/names" ] || [ -s "$FIX/manifest" ]; then read_objects "$FIX/objects.before"; fi
  write_record
}

is_complete() { [ "$(tail -n 1 "$FIX/record")" = end ]; }

finish() {
  is_complete
  [ ! -e "$FIX/objects.before" ] || read_objects "$FIX/objects.after"
  while IFS=$TAB read -r word kind name before after is_rendered; do
    case $word in
      state) printf 'state\tfinished\n' ;;
      thing) printf 'thing\t%s\t%s\t%s\t%s\t%s\n' "$kind" "$name" "$before" "$(state "$kind" "$name")" "$is_rendered" ;;
      end) ;;
      *) printf '%s\t%s\n' "$word" "$kind" ;;
    esac
  done <"$FIX/record" >"$FIX/record.new"
  write_record
  drop_unchanged
  print_record
}

# Copies of what the fix did not change are of no use: they may hold passwords.
drop_unchanged() {
  while IFS=$TAB read -r word kind name before after _; do
    case $word/$kind in thing/file) [ "$before" != "$after" ] || rm -f -- "$FIX/before$name" ;; esac
  done <"$FIX/record"
}

print_record() {
  printf 'id\t%s\n' "$ID"
  while IFS=$TAB read -r word kind name before after is_rendered; do
    case $word in
      thing)
        printf 'thing\t%s\t%s\t%s\t%s\t%s\t%s\n' "$kind" "$name" "$before" "$after" "$is_rendered" "$(state "$kind" "$name")"
        ;;
      end) ;;
      *) printf '%s\t%s\n' "$word" "$kind" ;;
    esac
  done <"$FIX/record"
}

# The newest fix that has begun and was not rolled back.
choose_newest() {
  ID=
  [ -d "$FIXES" ] || return 0
  for folder in "$FIXES"/*; do
    [ -d "$folder" ] && [ ! -e "$folder/closed" ] || continue
    # A folder without a record was left before anything was changed; earlier releases had other files.
    if [ ! -e "$folder/record" ] && [ ! -e "$folder/begun" ] && [ ! -e "$folder/finished" ]; then continue; fi
    ID=${folder##*/}
  done
}

read_record() {
  [ -n "$ID" ] || choose_newest
  [ -n "$ID" ] || return 0
  FIX=$FIXES/$ID
  if [ ! -e "$FIX/record" ]; then
    printf 'unreadable\t%s\tit has no record that this release knows\n' "$FIX"
  elif ! is_complete; then
    printf 'unreadable\t%s\tits record is not complete\n' "$FIX"
  elif ! grep -qxF "machine$TAB$(machine)" "$FIX/record"; then
    printf 'unreadable\t%s\tits record was made on another machine\n' "$FIX"
  else
    print_record
  fi
}

FIX=$FIXES/${ID:-}
# The script itself comes on standard input, and no program may read of it.
{
  case $DO in
    begin) begin ;;
    finish) finish ;;
    read) read_record ;;
    objects) objects ;;
    restore) restore ;;
    replace) replace ;;
    close) : >"$FIX/closed" ;;
    forget)
      rm -rf --one-file-system "${FIX:?}"
      # Folders of ours that are empty now.
      rmdir "$FIXES" "${FIXES%/*}" 2>/dev/null || :
      ;;
  esac
} </dev/null
echo 'done'
