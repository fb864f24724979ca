#!/bin/sh
# Lets the pods of a workload be made anew: those on NODES, or all of them one after the other where NODES is empty.
# Follows limits.sh. Reads NAMESPACE, KIND, NAME and NODES. Says `changed: …` for what it did.
set -eu
kube_in_namespace() { kube --namespace "$NAMESPACE" "$@"; }

if [ -z "$NODES" ]; then
  kube_in_namespace rollout restart "$KIND/$NAME" >/dev/null
  echo "changed: $KIND $NAMESPACE/$NAME"
  exit 0
fi
# {"k8s-app":"kube-proxy"}: labels hold none of these characters.
labels=$(kube_in_namespace get "$KIND" "$NAME" --output 'jsonpath={.spec.selector.matchLabels}' | tr -d '{}"' | tr : =)
[ -n "$labels" ] || exit 1
for node in $NODES; do
  pods=$(kube_in_namespace delete pod --selector "$labels" --field-selector "spec.nodeName=$node" --wait=false --output name)
  if [ -n "$pods" ]; then
    echo "changed: $pods on $node"
  else
    echo "$KIND $NAMESPACE/$NAME has no pod on $node that could be made anew: its nodeSelector, affinity or tolerations leave that node out" >&2
    exit 1
  fi
done
