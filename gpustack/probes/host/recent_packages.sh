#!/bin/sh
[ -r /var/log/apt/history.log ] || exit 0
now=$(date +%s) since=$(date -d '1 day ago' '+%Y-%m-%d %H:%M:%S')
awk -v since="$since" '/^Start-Date:/ { at = $2 " " $3 }
/^[A-Z][a-z]+: / && since <= at {
  how = tolower($1)
  sub(/:$/, "", how)
  if (how !~ /(stall|grade|move|purge)$/) next
  sub(/^[A-Za-z]+: /, "")
  gsub(/ \([^)]*\)/, "")
  gsub(/:[a-z0-9]+/, "")
  gsub(/,/, "")
  print at, how, $0
}' /var/log/apt/history.log | tail -n 20 | while read -r day hour rest; do
  at=$(date -d "$day $hour" +%s) || exit
  echo "$((now - at)) $rest"
done
