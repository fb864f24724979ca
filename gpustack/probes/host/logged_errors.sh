#!/bin/sh
# Print the errors that containers of the platform and its units logged within five minutes, of each log the newest four:
# the log, how many of its errors differ from this one in numbers alone, when the first of them was logged, and the line.
# klog, logrus, zap, slog and CoreDNS mark an error by a letter, a key or a word.
from=$(date -d '-5 minutes' +%Y-%m-%dT%H:%M:%S) || exit
marks='[EF][0-9]{4} |.{0,80}(^|[[:space:][])(ERROR|FATAL|CRITICAL|PANIC)[]:[:space:]]|(.*[[:space:]])?level="?(error|ERROR|fatal|FATAL|panic|crit)|.*"(level|severity)": ?"(error|ERROR|fatal|FATAL|panic|crit|CRITICAL)'
count_errors() {
  tr -cd '\11\12\40-\176' | grep -aE "^[0-9]{4}-[^ ]+ $1($2)" | awk -v from="$from" '
    {
      text = $0
      sub(/^[^ ]+ /, "", text)
      gsub(/[0-9][0-9a-f-]*/, "#", text)
      key = substr(text, 1, 99)
      if (!(key in first)) first[key] = $1
      if (substr($1, 1, 19) < from) next
      count[key]++; line[key] = $0; position[key] = NR
    }
    END {for (key in count) print position[key], count[key], first[key], line[key]}' |
    sort -rn | sed -nE 's/^[0-9]+ //; s/^(.{1500}).{3,}(.{500})$/\1...\2/; 1,4p' | sed "s|^|$3 |"
}
echo '== containers'
if cd /var/log/pods 2>/dev/null; then
  find . -mindepth 3 -maxdepth 3 -name '*.log' -mmin -5 | sort | while read -r path; do
    log=${path#./}
    case ${log%%_*} in
      kube-system | kube-flannel | local-path-storage | "$GPU_NAMESPACE" | "$MONITORING" | "$KEDA") ;;
      *) continue ;;
    esac
    tail -vc 262144 "$path" | count_errors 'std(out|err) [FP] ' "$marks" "${log%/*}"
  done
fi
echo '== units'
for unit in UNITS; do
  # These two write to their standard error, which has no priority of its own.
  case $unit in
    containerd | kubelet) priority=debug marks_of_unit=$marks ;;
    *) priority=err marks_of_unit='' ;;
  esac
  journalctl -u "$unit" -p "$priority" -b -n 3000 -o short-iso --no-pager 2>/dev/null |
    count_errors '[^ ]+ [^ ]+ ' "$marks_of_unit" "$unit"
done
echo '== end'
