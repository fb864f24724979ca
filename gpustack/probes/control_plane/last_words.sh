#!/bin/sh
cd /etc/kubernetes/manifests 2>/dev/null || { echo end; exit 0; }
set --
# shellcheck disable=SC2043 # they are several
for name in COMPONENTS; do
  [ ! -e "$name.yaml" ] || set -- "$@" "$name"
done
[ $# -gt 0 ] || { echo end; exit 0; }
running=$(pgrep -a -f "^($(IFS='|'; echo "$*")) ") || [ $? -eq 1 ] || exit 1
running=$(printf '%s\n' "$running" | while read -r _ program _; do echo "$program"; done)
for name; do
  case "
$running
" in *"
$name
"*) echo "$name runs"; continue ;; esac
  output=$(journalctl -u kubelet --since=-2min -o cat --no-pager |
    grep -F 'Could not process manifest file' | grep -F "/$name.yaml" | tail -n 1)
  log=$(find_log "$name")
  [ -n "$output" ] || [ -z "$log" ] || output=$(tail -n 200 "$log" | cut -d ' ' -f 4- |
    grep -E 'REFUSALS' | tail -n 1)
  if [ -n "$output" ]; then echo "$name said $output"; else echo "$name silent"; fi
done
echo end
