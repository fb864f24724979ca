# shellcheck shell=sh
# Makes the Secret that Alertmanager reads hold what standard input says, lines of a key and its content in base64, and
# nothing else; without a line there is none. Contents are in no argument, no environment and no file but the cluster's
# own. Follows limits.sh, namespace.sh and apply.sh. Reads NAMESPACE. Says `changed: …` for what it did.
set -eu
expected=$(sed '/^#/d' | sort)
[ -z "$expected" ] || ensure_namespace "$NAMESPACE" no
# shellcheck disable=SC2016 # the template's own
actual=$(kube -n "$NAMESPACE" get secret gpustack-receivers --ignore-not-found \
  -o 'go-template={{range $key, $value := .data}}{{$key}} {{$value}}{{"\n"}}{{end}}')
[ "$(printf '%s\n' "$actual" | sort)" != "$expected" ] || exit 0
if [ -z "$expected" ]; then
  [ -n "$(echo "Secret $NAMESPACE gpustack-receivers" | remove)" ] || exit 0
else
  write >/dev/null <<END
apiVersion: v1
kind: Secret
metadata: {name: gpustack-receivers, namespace: $NAMESPACE, labels: {app.kubernetes.io/managed-by: gpustack}}
data:
$(printf '%s\n' "$expected" | sed 's/^\([^ ]*\) /  \1: /')
END
fi
echo "changed: the receivers' secrets"
