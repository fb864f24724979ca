# shellcheck shell=sh
# Objects of the cluster that a fix may change, read by their names. Follows limits.sh; AT is the folder of the fix.

# Helm's manifest without Secrets, of which no copies are made, and without definitions of kinds. Helm takes what names no
# namespace for its release's, kubectl for the default one.
name_objects() {
  [ -z "$NAMES" ] || printf '%s\n' "$NAMES" >"$AT/names"
  [ -n "$RELEASE" ] && [ -x "$HELM" ] || return 0
  limited 60 "$HELM" get manifest "${RELEASE#* }" --namespace "${RELEASE% *}" >"$AT/list" 2>"$AT/refused" ||
    grep -q 'not found' "$AT/refused" || { cat "$AT/refused" >&2; return 1; }
  awk -v space="${RELEASE% *}" '/^---/ { flush(); next } { text = text $0 "\n" }
    /^kind: *"?(Secret|CustomResourceDefinition)"? *$/ { skip = 1 }
    function flush() {
      text = "\n" text
      if (text !~ /\n  namespace:/) sub(/\nmetadata: *\n/, "\nmetadata:\n  namespace: \"" space "\"\n", text)
      if (text ~ /\nkind:/ && !skip) printf "---%s", text
      text = ""
      skip = 0
    }
    END { flush() }' "$AT/list" >"$AT/manifest"
  rm "$AT/list" "$AT/refused"
}

# One document, with a line of its own. A kind that the cluster does not know has no objects.
read_objects() { # FILE
  file=$1
  shift
  [ ! -s "$AT/names" ] || set -- -f "$AT/names"
  [ ! -s "$AT/manifest" ] || set -- "$@" -f "$AT/manifest"
  : >"$AT/list"
  [ $# = 0 ] ||
    limited 100 kubectl get "$@" --ignore-not-found --show-managed-fields --output json >"$AT/list" 2>"$AT/refused" ||
    ! grep -qv -e 'no matches for kind' -e '^ensure CRDs are installed' "$AT/refused" ||
    { cat "$AT/refused" >&2; return 1; }
  { tr -d '\n' <"$AT/list"; echo; } >"$file.new"
  rm -f "$AT/list" "$AT/refused"
  sync "$file.new"
  mv "$file.new" "$file"
}

objects() {
  [ -e "$AT/objects.before" ] || return 0
  read_objects "$AT/objects.now"
  for when in before after now; do
    if [ -e "$AT/objects.$when" ]; then cat "$AT/objects.$when"; else echo; fi
  done
  rm "$AT/objects.now"
}

# The API refuses a version that is no longer the newest, and says so.
send() { # LABEL COMMAND…
  label=$1
  shift
  if answer=$(limited 100 "$@" 2>&1); then
    printf 'sent\t%s\n' "$label"
    return
  fi
  case $answer in
    *'(Conflict)'* | *'(NotFound)'*) printf 'refused\t%s\n' "$label" ;;
    *) printf '%s\n' "$answer" >&2; return 1 ;;
  esac
}

replace() {
  printf '%s\n' "$REPLACE" >"$AT/sent"
  while IFS=$TAB read -r label object; do
    [ -n "$label" ] || continue
    printf '%s\n' "$object" >"$AT/object"
    send "$label" kubectl replace --field-manager=gpustack -f "$AT/object"
  done <"$AT/sent"
  printf '%s\n' "$DELETE" >"$AT/sent"
  while IFS=$TAB read -r label path options; do
    [ -n "$label" ] || continue
    printf '%s\n' "$options" >"$AT/object"
    send "$label" kubectl delete --raw "$path" -f "$AT/object"
  done <"$AT/sent"
  rm -f "$AT/sent" "$AT/object"
}
