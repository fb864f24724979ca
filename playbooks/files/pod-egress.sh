# shellcheck shell=sh
# Makes the Secret NAME-proxy and the ConfigMaps NAME-ca and NAME-sources hold what standard input says, lines of a kind, a
# name, a key and a value, and nothing else; without a line of it there is none, and where VALUES, those of the release, do
# not name it. A value is base64, or a text in quotes. It is in no argument, no environment and no file but the cluster's own. Where the
# Secret changed, the pods that RENEW selects are made anew: a program reads its environment once. Follows limits.sh,
# namespace.sh and apply.sh. Reads NAMESPACE, NAME, VALUES, RENEW. Says `changed: …` for what it did.
set -eu
lines=$(sed '/^#/d')
bring_object() (
  expected=
  case $VALUES in *"\"$2\""*) expected=$(printf '%s\n' "$lines" | sed -n "s/^$1 $2 //p" | sort) ;; esac
  [ -z "$expected" ] || ensure_namespace "$NAMESPACE" yes
  actual=$(kube -n "$NAMESPACE" get "$1" "$2" --ignore-not-found \
    -o "go-template={{range \$key, \$value := .data}}{{\$key}} $3{{\"\\n\"}}{{end}}")
  [ "$(printf '%s\n' "$actual" | sort)" != "$expected" ] || exit 0
  if [ -z "$expected" ]; then
    [ -n "$(echo "$1 $NAMESPACE $2" | remove)" ] || exit 0
  else
    write >/dev/null <<END
apiVersion: v1
kind: $1
metadata: {name: $2, namespace: $NAMESPACE, labels: {app.kubernetes.io/managed-by: gpustack}}
data:
$(printf '%s\n' "$expected" | sed 's/^\([^ ]*\) /  \1: /')
END
  fi
  echo "changed: $1 $2"
  [ -n "$RENEW" ] && [ -n "$actual" ] && [ -n "$expected" ] || exit 0
  kube -n "$NAMESPACE" delete pods --wait=false -l "$RENEW" >/dev/null
)
# shellcheck disable=SC2016 # the template's own
bring_object Secret "$NAME-proxy" '{{$value}}'
for object in "$NAME-ca" "$NAME-sources"; do
  # shellcheck disable=SC2016
  bring_object ConfigMap "$object" '{{printf "%q" $value}}'
done
