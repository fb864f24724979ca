# shellcheck shell=sh
# Makes the Secret that Alertmanager reads hold what standard input says, lines of a key and its content in base64, and
# nothing else; without a line there is none. Contents are in no argument, no environment and no file but the cluster's
# own. Follows limits.sh. Reads NAMESPACE. Says `changed: …` for what it did.
set -eu
wanted=$(sed '/^#/d' | sort)
if [ -z "$(kube get namespace "$NAMESPACE" --ignore-not-found -o name)" ]; then
  [ -n "$wanted" ] || exit 0
  kube create namespace "$NAMESPACE" >/dev/null
fi
# shellcheck disable=SC2016 # the template's own
found=$(kube -n "$NAMESPACE" get secret gpustack-receivers --ignore-not-found \
  -o 'go-template={{range $key, $value := .data}}{{$key}} {{$value}}{{"\n"}}{{end}}')
[ "$(printf '%s\n' "$found" | sort)" != "$wanted" ] || exit 0
if [ -z "$wanted" ]; then
  kube -n "$NAMESPACE" delete secret gpustack-receivers >/dev/null
else
  kube apply --server-side --force-conflicts --field-manager=gpustack -f - >/dev/null <<END
apiVersion: v1
kind: Secret
metadata: {name: gpustack-receivers, namespace: $NAMESPACE, labels: {app.kubernetes.io/managed-by: gpustack}}
data:
$(printf '%s\n' "$wanted" | sed 's/^\([^ ]*\) /  \1: /')
END
fi
echo "changed: the receivers' secrets"
