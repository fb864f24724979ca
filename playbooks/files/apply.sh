# shellcheck shell=sh
# apply: brings objects, which come as a stream of documents on standard input, into the cluster, server-side, under the
# field manager `gpustack`. An object of that name without a mark of ours is left as it is, and ends the run with its name.
# Marks: the label app.kubernetes.io/managed-by=gpustack, fields that an earlier release applied, and Helm's annotations
# where RELEASE and NAMESPACE name a release of ours. Fields that we do not set stay.
# write: the same without comparing first, for what must not lie in a file: Secrets.
# remove: deletes what lines of KIND NAMESPACE NAME say, and only with our label.
# Each says `changed: …` for what it did. Follows limits.sh.
MANAGER_LABEL=app.kubernetes.io/managed-by

# A conflict means that others own a field that we set. It is forced on objects with a mark of ours alone.
apply() (
  objects=$(cat)
  ! printf '%s\n' "$objects" | kube diff --server-side --force-conflicts --field-manager=gpustack -f - >/dev/null 2>&1 || exit 0
  printf '%s\n' "$objects" | write
)

write() (
  objects=$(cat)
  send() { printf '%s\n' "$objects" | kube apply --server-side "$@" --field-manager=gpustack -f - 2>&1; }
  printf '%s\n' "$objects" | refuse_foreign || exit 1
  answer=$(send) || {
    code=$?
    case $answer in *"Apply failed with "*" conflict"*) ;; *) printf '%s\n' "$answer" >&2; exit $code ;; esac
    # By now each of them is in the cluster, some perhaps from others who were quicker.
    printf '%s\n' "$objects" | refuse_foreign || exit 1
    answer=$(send --force-conflicts) || { printf '%s\n' "$answer" >&2; exit 1; }
  }
  printf '%s\n' "$answer" | sed 's/^/changed: /'
)

refuse_foreign() (
  owners=$(kube get --ignore-not-found -f - -o "go-template=$(owner_template)") || exit 1
  printf '%s\n' "$owners" | {
    code=0
    while read -r kind space name mark; do
      [ -n "$name" ] && [ -z "$mark" ] || continue
      [ "$space" = - ] || name=$space/$name
      echo "$kind $name is not from gpustack, and is left as it is (gpustack explain foreign-object)" >&2
      code=1
    done
    exit $code
  }
)

# Lines of KIND NAMESPACE NAME, and a further word where the object has a mark of ours.
owner_template() {
  cat <<END
{{define "object"}}{{.kind}} {{or .metadata.namespace "-"}} {{.metadata.name}}
{{- with .metadata.labels}}{{if eq (printf "%v" (index . "$MANAGER_LABEL")) "gpustack"}} label{{end}}{{end}}
{{- range .metadata.managedFields}}{{if and (eq (printf "%v" .manager) "gpustack") (eq (printf "%v" .operation) "Apply")}} fields{{end}}{{end}}
{{- with .metadata.annotations}}{{if and (eq (printf "%v" (index . "meta.helm.sh/release-name")) "${RELEASE:--}") (eq (printf "%v" (index . "meta.helm.sh/release-namespace")) "${NAMESPACE:--}")}} release{{end}}{{end}}
{{end}}{{if eq .kind "List"}}{{range .items}}{{template "object" .}}{{end}}{{else}}{{template "object" .}}{{end}}
END
}

remove() (
  while read -r kind space name; do
    [ -n "$name" ] || continue
    answer=$(kube -n "$space" delete "$kind" -l "$MANAGER_LABEL=gpustack" --field-selector "metadata.name=$name" \
      --ignore-not-found --wait=false -o name </dev/null) || exit 1
    # Where there is none, kubectl says so in words.
    printf '%s\n' "$answer" | sed -n "s,^[^ ]*/[^ ]*\$,changed: removed $space/&,p"
  done
)
