#!/bin/sh
[ -r /etc/kubernetes/admin.conf ] || exit 0
ask() { kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout="$((4 * ${TIMEOUT_FACTOR:-1}))s" "$@"; }
if ! reply=$(ask -n "$MONITORING" get prometheuses.monitoring.coreos.com "$RELEASE-prometheus" \
  --ignore-not-found -o 'jsonpath={.metadata.name} {.spec.serviceAccountName}'); then
  # Only where the API server answers that it does not know the kind, there is none.
  crd=$(ask get crd prometheuses.monitoring.coreos.com --ignore-not-found -o name) && [ -z "$crd" ] || exit 1
fi
[ -n "$reply" ] || { echo none; exit 0; }
account=${reply#* }
account=${account:-default}
group=system:serviceaccounts
# The API server answers a review and stores none. One kubectl for all of them.
for space in "$GPU_NAMESPACE" "$MONITORING"; do
  for kind in services. pods. endpoints. SLICES; do
    echo "---
apiVersion: authorization.k8s.io/v1
kind: SubjectAccessReview
spec:
  user: system:serviceaccount:$MONITORING:$account
  groups: [$group, \"$group:$MONITORING\", \"system:authenticated\"]
  resourceAttributes: {verb: list, namespace: \"$space\", resource: \"${kind%%.*}\", group: \"${kind#*.}\"}"
  done
done | ask create --validate=false -f - -o 'jsonpath={.spec.resourceAttributes.resource}.{.spec.resourceAttributes.group} {.spec.resourceAttributes.namespace} {.status.allowed}{.status.evaluationError}{"\n"}' |
  sed -e "s|^|$MONITORING/$account |" -e 's/\. / /' -e 's/ true$/ yes/; t' -e 's/ false$/ no/; t' \
    -e 's/^\([^ ]* [^ ]* [^ ]*\) .*/\1 unknown/'
