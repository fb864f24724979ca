#!/bin/sh
[ -r /etc/kubernetes/admin.conf ] || exit 0
found=$(kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout="$((4 * ${TIMEOUT_FACTOR:-1}))s" -n "$MONITORING" get \
  "service/$RELEASE-grafana" "secret/$RELEASE-grafana" --ignore-not-found \
  -o 'jsonpath={..spec.clusterIP}:{..spec.ports[0].port}/{..data.admin-user} {..data.admin-password}') || exit
case $found in ?*:?*/?*' '?*) ;; *) exit 0 ;; esac
at=${found%%/*} login=${found#*/}
user=$(printf %s "${login% *}" | base64 -d) password=$(printf %s "${login#* }" | base64 -d)
quoted=$(printf '%s:%s' "$user" "$password" | sed 's/["\\]/\\&/g')
ask() { printf 'user = "%s"
' "$quoted" | curl -s --noproxy '*' -m "${TIMEOUT_FACTOR:-1}" -K - "$@"; }
status() { ask -o /dev/null -w '%{http_code}' "http://$at$1" || :; }
query='/api/datasources/proxy/uid/prometheus/api/v1/query?query=count(DCGM_FI_DEV_GPU_TEMP%20or%20DCGM_FI_DEV_FB_USED)'
is=$(status /api/org)
[ "$is" = 200 ] || { echo "$is 0 no"; exit 0; }
health=$(ask -w ' %{http_code}' "http://$at/api/datasources/uid/prometheus/health" || :)
plugin=
case $health in *'"plugin.notRegistered"'*) plugin=' unregistered' ;; esac
case $(ask "http://$at$query") in *'"value":'*) samples=yes ;; *) samples=no ;; esac
echo "$is ${health##* } $samples$plugin"
