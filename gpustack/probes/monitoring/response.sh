#!/bin/sh
[ -r /etc/kubernetes/admin.conf ] || exit 0
of() {
  kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=2s -n "$MONITORING" get "$@" --ignore-not-found
}
at=$(of service "$RELEASE-grafana" -o 'jsonpath={.spec.clusterIP}:{.spec.ports[0].port}') || exit
login=$(of secret "$RELEASE-grafana" -o 'jsonpath={.data.admin-user} {.data.admin-password}') || exit
case $at/$login in ?*:?*/?*' '?*) ;; *) exit 0 ;; esac
user=$(printf %s "${login% *}" | base64 -d) password=$(printf %s "${login#* }" | base64 -d)
quoted=$(printf '%s:%s' "$user" "$password" | sed 's/["\\]/\\&/g')
ask() { printf 'user = "%s"
' "$quoted" | curl -s --noproxy '*' -m 1 -K - "$@"; }
status() { ask -o /dev/null -w '%{http_code}' "http://$at$1" || :; }
query='/api/datasources/proxy/uid/prometheus/api/v1/query?query=count(DCGM_FI_DEV_GPU_TEMP)'
is=$(status /api/org)
[ "$is" = 200 ] || { echo "$is 0 no"; exit 0; }
health=$(status /api/datasources/uid/prometheus/health)
ask "http://$at$query" | grep -q '"value":' && samples=yes || samples=no
echo "$is $health $samples"
