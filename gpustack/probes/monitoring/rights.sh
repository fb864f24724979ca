#!/bin/sh
[ -r /etc/kubernetes/admin.conf ] || exit 0
ask() { kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=4s "$@"; }
known=$(ask get crd prometheuses.monitoring.coreos.com --ignore-not-found -o name) || exit
[ -z "$known" ] || found=$(ask -n "$MONITORING" get prometheuses.monitoring.coreos.com "$RELEASE-prometheus" \
  --ignore-not-found -o 'jsonpath={.metadata.name} {.spec.serviceAccountName}') || exit
[ -n "${found-}" ] || { echo none; exit 0; }
account=${found#* }
account=${account:-default}
for space in "$GPU_NAMESPACE" "$MONITORING"; do
  for kind in services pods endpoints SLICES; do
    {
      may=$(ask auth can-i list "$kind" -n "$space" --as="system:serviceaccount:$MONITORING:$account")
      case $may in yes) ;; no | 'no - '*) may=no ;; *) may=unknown ;; esac
      echo "$MONITORING/$account $kind $space $may"
    } &
  done
done
wait
