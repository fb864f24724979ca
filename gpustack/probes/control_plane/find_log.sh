#!/bin/sh
# Print the path of the newest log of a component of the control plane, nothing where it has none.
find_log() {
  find /var/log/pods -path "*/kube-system_$1-*/$1/*.log" -printf '%T@ %p\n' 2>/dev/null |
    sort -n | tail -n 1 | cut -d ' ' -f 2-
}
