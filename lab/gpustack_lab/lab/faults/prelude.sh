#!/bin/sh
# Before every script of an injector: it ends at the first command that fails, and within its limit.
set -eu
export KUBECONFIG=/etc/kubernetes/admin.conf LC_ALL=C DEBIAN_FRONTEND=noninteractive
began=$(date +%s)

# Tries until it succeeds. What heals one fault of several (BESIDE) cannot wait for what another one still breaks.
await() {
    while ! "$@" >/dev/null 2>&1; do
        if [ -n "${BESIDE-}" ] && [ "$(date +%s)" -gt $((began + 30)) ]; then return 0; fi
        [ "$(date +%s)" -lt $((began + 270)) ] || { echo "never: $*" >&2; exit 1; }
        sleep 1
    done
}

cri() { crictl --runtime-endpoint unix:///run/containerd/containerd.sock "$@"; }

# Below cgroups of version 1 a reload of systemd takes processes out of their devices cgroup, where runc looks for those
# of a pod in the host's PID namespace: its sandbox cannot be stopped any more. The kubelet makes another.
sandbox_anew() {
    pod=$(cri pods --quiet --state ready --label "app.kubernetes.io/name=$1")
    [ -z "$pod" ] || kill -9 "$(cri inspectp --output go-template --template '{{.info.pid}}' "$pod")"
}

systemd_cgroups() {
    cri info | python3 -c 'import json, sys
runc = json.load(sys.stdin)["config"]["containerd"]["runtimes"]["runc"]
sys.exit(runc["options"].get("SystemdCgroup") is not True)'
}
own_cgroups() { cri version && ! systemd_cgroups; }
# A kubelet that was started meanwhile has taken the other driver, and keeps to it.
systemd_again() {
    await systemd_cgroups
    systemctl try-restart kubelet
}

# containerd brings a file of an older version up to date, tables of 1.x too; in one of its own version they count for
# nothing.
newest_schema() { containerd config default | sed -n 's/^version = //p'; }

# NVIDIA's toolkit repeats the settings of runc in its drop-in, as the last of its tables; those would win.
TOOLKIT=/etc/containerd/conf.d/99-nvidia.toml
take_runc_from_toolkit() {
    [ -e "$TOOLKIT" ] || return 0
    cp -p "$TOOLKIT" /run/99-nvidia.toml
    sed -i '/^ *\[plugins.*runtimes\.runc\]/,$d' "$TOOLKIT"
}
give_runc_to_toolkit() {
    [ ! -e /run/99-nvidia.toml ] || cp -p /run/99-nvidia.toml "$TOOLKIT"
    rm -f /run/99-nvidia.toml
}

# On the control plane: the API answers, and the node of the fault is Ready.
ready() {
    kubectl --request-timeout=5s get --raw /readyz &&
        kubectl --request-timeout=5s wait --for=condition=Ready "node/$NODE" --timeout=2s
}
unready() { ! kubectl --request-timeout=5s wait --for=condition=Ready "node/$NODE" --timeout=0s; }
kubelet_is_well() { curl -sf -m 2 http://127.0.0.1:10248/healthz; }
kubelet_is_down() { ! kubelet_is_well; }

# A host that takes no commands any more: what is typed here is run when somebody knocks, or in a quarter of an hour.
door() {
    systemd-run -q --collect --unit=lab-door sh -c "timeout 900 python3 -c '
import socket
socket.create_server((str(), 2299)).accept()'; $1"
    await sh -c "ss -Hltn 'sport = :2299' | grep -q ."
}
reaches() { python3 -c 'import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 3)' "$1" "$2"; }
silent() { ! reaches "$1" "$2"; }

# From the archive, with what it needs; `drop_package` takes away what came with it.
add_package() {
    dpkg-query -Wf '${Package}\n' | sort >"/run/before-$1"
    apt-get -qqy install --no-install-recommends "$1" </dev/null >/dev/null 2>&1 || {
        apt-get -qq update </dev/null >/dev/null
        apt-get -qqy install --no-install-recommends "$1" </dev/null >/dev/null
    }
}
drop_package() {
    [ -e "/run/before-$1" ] || return 0
    dpkg-query -Wf '${Package}\n' | sort | comm -13 "/run/before-$1" - >"/run/since-$1"
    xargs -r -a "/run/since-$1" apt-get -qqy purge </dev/null >/dev/null 2>&1
    rm -f "/run/before-$1" "/run/since-$1"
}

# Whatever ufw left in the kernel goes too.
no_ufw() {
    ufw --force reset >/dev/null 2>&1 || :
    drop_package ufw
    rm -rf /etc/ufw
    for program in iptables ip6tables; do
        for chain in INPUT FORWARD OUTPUT; do $program -P $chain ACCEPT 2>/dev/null || :; done
        $program -S 2>/dev/null | sed -n '/-j ufw/s/^-A/-D/p' | while read -r rule; do
            # shellcheck disable=SC2086 # a rule is many words
            $program $rule || :
        done
        chains=$($program -S 2>/dev/null | sed -n 's/^-N \(ufw.*\)/\1/p')
        for chain in $chains; do $program -F "$chain"; done
        for chain in $chains; do $program -X "$chain"; done
    done
}

# NAME VERSION [POSTINST]: a package that holds nothing, as /run/NAME.deb.
empty_package() {
    mkdir -p "/run/$1/DEBIAN"
    printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: none\n' \
        "$1" "$2" >"/run/$1/DEBIAN/control"
    if [ -n "${3-}" ]; then
        printf '#!/bin/sh\n%s\n' "$3" >"/run/$1/DEBIAN/postinst"
        chmod 755 "/run/$1/DEBIAN/postinst"
    fi
    dpkg-deb -b "/run/$1" "/run/$1.deb" >/dev/null
    rm -r "/run/$1"
}

# CERTIFICATE KEY OUT [CA CA_KEY]: the same certificate, that ended long ago; signed by itself where there is no CA.
ended() {
    made=$(mktemp -d) out=$3
    : >"$made/index"
    printf '%s\n' '[ca]' 'default_ca = own' '[own]' "database = $made/index" "new_certs_dir = $made" \
        'default_md = sha256' 'rand_serial = yes' 'policy = any' 'unique_subject = no' 'copy_extensions = copy' \
        '[any]' 'commonName = supplied' >"$made/settings"
    openssl x509 -x509toreq -copy_extensions copyall -in "$1" -signkey "$2" -out "$made/request" 2>/dev/null
    if [ -n "${4-}" ]; then set -- -cert "$4" -keyfile "$5"; else set -- -selfsign -keyfile "$2"; fi
    openssl ca -batch -notext -preserveDN -config "$made/settings" -startdate 20240101000000Z \
        -enddate 20250101000000Z -in "$made/request" -out "$out" "$@" 2>/dev/null
    rm -r "$made"
}

# PORT UNIT: a registry that has given this address enough for today.
limited() {
    systemd-run -q --collect --unit="$2" python3 -c '
import http.server, json, sys
words = "toomanyrequests: You have reached your unauthenticated pull rate limit."
said = json.dumps({"errors": [{"code": "TOOMANYREQUESTS", "message": words}]}).encode()
class Registry(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(429)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
    def do_GET(self):
        self.do_HEAD()
        self.wfile.write(said)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Registry).serve_forever()' "$1"
    await reaches 127.0.0.1 "$1"
}

# NAME IMAGE: a pod of a user on the node of the fault.
user_pod() {
    kubectl -n default run "$1" --image="$2" --restart=Never --image-pull-policy=Always \
        --overrides="{\"apiVersion\": \"v1\", \"spec\": {\"nodeName\": \"$NODE\"}}" >/dev/null
}
no_user_pod() {
    kubectl -n default delete pod "$1" --ignore-not-found --force --grace-period=0 --timeout=60s >/dev/null 2>&1
}
is_limited() {
    kubectl --request-timeout=5s -n default get pod "$1" \
        -o 'jsonpath={.status.containerStatuses[0].state.waiting.message}' | grep -qE '429|toomanyrequests'
}
