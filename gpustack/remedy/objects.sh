# shellcheck shell=sh
# Objects of the cluster that a fix may change, read by their names. Follows limits.sh; FIX is the folder of the fix.

# Helm's manifest without Secrets, of which no copies are made, and without definitions of kinds. Helm takes what names no
# namespace for its release's, kubectl for the default one.
name_objects() {
  [ -z "$NAMES" ] || printf '%s\n' "$NAMES" >"$FIX/names"
  [ -n "$RELEASE" ] && [ -x "$HELM" ] || return 0
  run_limited 60 "$HELM" get manifest "${RELEASE#* }" --namespace "${RELEASE% *}" >"$FIX/list" 2>"$FIX/refused" ||
    grep -q 'not found' "$FIX/refused" || { cat "$FIX/refused" >&2; return 1; }
  awk -v space="${RELEASE% *}" '/^---/ { flush(); next } { text = text $0 "\n" }
    /^kind: *"?(Secret|CustomResourceDefinition)"? *$/ { skip = 1 }
    function flush() {
      text = "\n" text
      if (text !~ /\n  namespace:/) sub(/\nmetadata: *\n/, "\nmetadata:\n  namespace: \"" space "\"\n", text)
      if (text ~ /\nkind:/ && !skip) printf "---%s", text
      text = ""
      skip = 0
    }
    END { flush() }' "$FIX/list" >"$FIX/manifest"
  rm "$FIX/list" "$FIX/refused"
}

# One document, with a line of its own. A kind that the cluster does not know has no objects.
read_objects() { # FILE
  file=$1
  shift
  [ ! -s "$FIX/names" ] || set -- -f "$FIX/names"
  [ ! -s "$FIX/manifest" ] || set -- "$@" -f "$FIX/manifest"
  : >"$FIX/list"
  [ $# = 0 ] ||
    run_limited 100 kubectl get "$@" --ignore-not-found --show-managed-fields --output json >"$FIX/list" 2>"$FIX/refused" ||
    ! grep -qv -e 'no matches for kind' -e '^ensure CRDs are installed' "$FIX/refused" ||
    { cat "$FIX/refused" >&2; return 1; }
  { tr -d '\n' <"$FIX/list"; echo; } >"$file.new"
  rm -f "$FIX/list" "$FIX/refused"
  sync "$file.new"
  mv "$file.new" "$file"
}

objects() {
  [ -e "$FIX/objects.before" ] || return 0
  read_objects "$FIX/objects.now"
  for moment in before after now; do
    if [ -e "$FIX/objects.$moment" ]; then cat "$FIX/objects.$moment"; else echo; fi
  done
  rm "$FIX/objects.now"
}

# The API refuses a version that is no longer the newest, and says so.
send() { # LABEL COMMAND…
  label=$1
  shift
  if answer=$(run_limited 100 "$@" 2>&1); then
    printf 'sent\t%s\n' "$label"
    return
  fi
  case $answer in
    *'(Conflict)'* | *'(NotFound)'*) printf 'refused\t%s\n' "$label" ;;
    *) printf '%s\n' "$answer" >&2; return 1 ;;
  esac
}

replace() {
  printf '%s\n' "$REPLACE" >"$FIX/sent"
  while IFS=$TAB read -r label object; do
    [ -n "$label" ] || continue
    printf '%s\n' "$object" >"$FIX/object"
    send "$label" kubectl replace --field-manager=gpustack -f "$FIX/object"
  done <"$FIX/sent"
  printf '%s\n' "$DELETE" >"$FIX/sent"
  while IFS=$TAB read -r label path options; do
    [ -n "$label" ] || continue
    printf '%s\n' "$options" >"$FIX/object"
    send "$label" kubectl delete --raw "$path" -f "$FIX/object"
  done <"$FIX/sent"
  rm -f "$FIX/sent" "$FIX/object"
}
