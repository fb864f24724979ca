# shellcheck shell=sh
# bring_definitions: brings CRDs, which come as YAML documents on standard input, into the cluster. Others use them as well:
# one that is missing is created, one of ours or an older one is upgraded; a newer one, and one of others that is not known to
# be older, is left as it is, with a sentence. A version is what the publisher writes into its metadata.
# Says `changed: …` for what it did. Follows limits.sh.
bring_definitions() (
  folder=$(mktemp -d)
  trap 'rm -rf --one-file-system "$folder"' EXIT
  mkdir "$folder/all"
  awk -v folder="$folder/all" '
    function flush() { if (text ~ /\nkind: CustomResourceDefinition/) { n++; printf "%s", text > sprintf("%s/%03d.yaml", folder, n) }; text = "\n" }
    BEGIN { text = "\n" } /^---/ { flush(); next } { text = text $0 "\n" } END { flush() }
  '
  [ -n "$(ls "$folder/all")" ] || exit 0
  ! kube diff --server-side --force-conflicts --field-manager=gpustack -f "$folder/all" >/dev/null 2>&1 || exit 0
  kube create --dry-run=client --validate=false -f "$folder/all" -o "go-template=$(definition_template)" >"$folder/expected" || exit 1
  choose_definitions "$folder" || exit 1
  [ -n "$(ls "$folder/chosen")" ] || exit 0
  set -- apply --server-side --field-manager=gpustack -f "$folder/chosen"
  answer=$(kube "$@" 2>&1) || {
    code=$?
    case $answer in *"Apply failed with "*" conflict"*) ;; *) printf '%s\n' "$answer" >&2; exit $code ;; esac
    # Each of them is in the cluster by now, and others may have brought newer ones meanwhile.
    choose_definitions "$folder" >/dev/null || exit 1
    answer=$(kube "$@" --force-conflicts 2>&1) || { printf '%s\n' "$answer" >&2; exit 1; }
  }
  printf '%s\n' "$answer" | sed 's/^/changed: /'
  kube wait --for=condition=Established --timeout="$((50 * ${TIMEOUT_FACTOR:-1}))s" -f "$folder/chosen" >/dev/null
)

# Copies those files into FOLDER/chosen that are to be applied.
choose_definitions() ( # FOLDER
  kube get --ignore-not-found -f "$1/all" -o "go-template=$(definition_template)" >"$1/actual" || exit 1
  mkdir -p "$1/chosen"
  rm -f "$1"/chosen/*.yaml
  number=0
  while read -r name _ expected; do
    number=$((number + 1))
    file=$(printf %03d.yaml $number)
    state=$(sed -n "s/^$name //p" "$1/actual")
    owner=${state%% *} actual=${state#* }
    if [ -z "$state" ]; then
      : # It is created.
    elif is_version "$expected" && is_version "$actual"; then
      if is_newer "$actual" "$expected"; then
        echo "definition $name has version $actual, newer than $expected of this chart: it is left as it is"
        continue
      fi
      if [ "$owner" = others ] && [ "$actual" = "$expected" ]; then
        echo "definition $name is not from gpustack, and has version $expected already: it is left as it is (gpustack explain foreign-object)"
        continue
      fi
    elif [ "$owner" = others ]; then
      echo "definition $name is not from gpustack, and its version is unknown: it is left as it is (gpustack explain foreign-object)"
      continue
    fi
    cp "$1/all/$file" "$1/chosen/$file"
  done <"$1/expected"
)

is_version() { printf '%s\n' "$1" | grep -qxE '[0-9]+(\.[0-9]+)+'; }

is_newer() { # ACTUAL EXPECTED
  [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | tail -n 1)" = "$1" ]
}

# Lines of NAME OWNER VERSION. A definition is ours by its label, or where nobody but us has written its versions since.
definition_template() {
  cat <<'END'
{{define "definition"}}{{$owner := "others"}}{{$others := false}}{{$version := "-"}}
{{- range $entry := .metadata.managedFields}}{{with .fieldsV1}}{{with index . "f:spec"}}{{if ne (printf "%v" (index . "f:versions")) "<nil>"}}
{{- if eq (printf "%v%v" $entry.manager $entry.operation) "gpustackApply"}}{{$owner = "gpustack"}}{{else}}{{$others = true}}{{end}}
{{- end}}{{end}}{{end}}{{end}}{{if $others}}{{$owner = "others"}}{{end}}
{{- with .metadata.labels}}{{with index . "app.kubernetes.io/version"}}{{$version = .}}{{end}}
{{- if eq (printf "%v" (index . "app.kubernetes.io/managed-by")) "gpustack"}}{{$owner = "gpustack"}}{{end}}{{end}}
{{- with .metadata.annotations}}{{with index . "operator.prometheus.io/version"}}{{$version = .}}{{end}}{{end}}
{{- .metadata.name}} {{$owner}} {{$version}}
{{end}}{{if eq .kind "List"}}{{range .items}}{{template "definition" .}}{{end}}{{else}}{{template "definition" .}}{{end}}
END
}
