#!/bin/sh
# Print the errors that containers of the platform and its units logged within five minutes, of each log the newest four:
# the log, how many of its errors differ from this one in numbers alone, the first time in the part that is read, when
# the first of these errors was logged, and the line. klog, logrus, zap, slog and CoreDNS mark an error by a letter, a
# key or a word.
begin_time=$(date -d '-5 minutes' +%Y-%m-%dT%H:%M:%S) || exit
list_errors() {
  tr -cd '\11\12\40-\176' | awk -v begin_time="$begin_time" -v needs_mark="$1" '
    function is_error(text) {
      return text ~ /^[EF][0-9][0-9][0-9][0-9] / ||
        substr(text, 1, 80) ~ /(^|\[| |\t)(ERROR|FATAL|CRITICAL|PANIC)(\]|:| |\t)/ ||
        text ~ /(^|[ \t])level="?(error|ERROR|fatal|FATAL|panic|crit)/ ||
        text ~ /"(level|severity)": ?"(error|ERROR|fatal|FATAL|panic|crit|CRITICAL)"/
    }
    $1 == "==>" {log_name = substr($2, 3); sub(/[/][^/]*$/, "", log_name); is_file = 1; next}
    !/^[0-9][0-9][0-9][0-9]-/ {next}
    {
      text = $0
      sub(/^[^ ]+ [^ ]+ [^ ]+ /, "", text)
      if (!is_file) {log_name = $3; sub(/[^a-zA-Z0-9_.@-].*/, "", log_name)}
      if (!(log_name in start)) start[log_name] = $1
      if (needs_mark && !is_error(text)) next
      gsub(/[0-9][0-9a-f-]*/, "#", text)
      key = log_name " " substr(text, 1, 99)
      if (!(key in first)) first[key] = $1
      if (substr($1, 1, 19) < begin_time) next
      count[key]++; line[key] = $0; position[key] = NR; name[key] = log_name
    }
    END {for (key in count) print position[key], name[key], count[key], start[name[key]], first[key], line[key]}' |
    sort -rn | awk 'shown[$2]++ < 4' | sed -E 's/^[0-9]+ //; s/^(.{1500}).{3,}(.{500})$/\1...\2/'
}
list_units() {
  journalctl "$@" -b -n 3000 -o short-iso --no-pager 2>/dev/null
}
echo '== containers'
if cd /var/log/pods 2>/dev/null; then
  set --
  for folder in ./kube-system_*/* ./kube-flannel_*/* ./local-path-storage_*/* "./${GPU_NAMESPACE}_"*/* "./${MONITORING}_"*/* "./${KEDA}_"*/*; do
    set -- "$@" "$folder"
  done
  find "$@" -maxdepth 1 -name '*.log' -mmin -5 -exec tail -vc 131072 {} + 2>/dev/null | list_errors marked
fi
echo '== units'
list_units -u containerd -u kubelet | list_errors marked
set --
# shellcheck disable=SC2043 # they are several
for unit in UNITS; do
  set -- "$@" -u "$unit"
done
list_units -p err "$@" | list_errors ''
echo '== end'
