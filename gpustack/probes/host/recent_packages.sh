#!/bin/sh
[ -r /var/log/apt/history.log ] || exit 0
times=$(printf 'now\n1 day ago\n' | date -f - '+%s %Y-%m-%d %H:%M:%S') || exit
current_time=${times%% *} begin=${times##*
}
lines=$(awk -v begin="${begin#* }" '/^Start-Date:/ { date = $2 " " $3 }
/^[A-Z][a-z]+: / && begin <= date {
  how = tolower($1)
  sub(/:$/, "", how)
  if (how !~ /(stall|grade|move|purge)$/) next
  sub(/^[A-Za-z]+: /, "")
  gsub(/ \([^)]*\)/, "")
  gsub(/:[a-z0-9]+/, "")
  gsub(/,/, "")
  line[many++] = date " " how " " $0
}
END { for (i = many < 20 ? 0 : many - 20; i < many; i++) print line[i] }' /var/log/apt/history.log)
[ -n "$lines" ] || exit 0
# One date for all of them.
epochs=$(printf '%s\n' "$lines" | while read -r day hour _; do echo "$day $hour"; done | date -f - +%s) || exit
while read -r epoch <&3 && read -r _ _ rest; do
  echo "$((current_time - epoch)) $rest"
done <<LINES 3<<EPOCHS
$lines
LINES
$epochs
EPOCHS
