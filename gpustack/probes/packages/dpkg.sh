#!/bin/sh
command -v dpkg-query >/dev/null || { echo '== none'; exit 0; }
echo '== locks'
cd /var || exit
stat -c '%i %n' lib/dpkg/lock-frontend lib/dpkg/lock lib/apt/lists/lock cache/apt/archives/lock 2>/dev/null |
  awk 'FNR == NR {file[$1] = "/var/" $2; next}
    $2 != "POSIX" || $4 != "WRITE" {next}
    split($6, at, ":") && at[3] in file && $5 ~ /^[1-9]/ {print file[at[3]], $5}' - /proc/locks |
  while read -r file pid; do
    find "/proc/$pid/fd" -lname "$file" 2>/dev/null | grep -q . || continue
    read -r name <"/proc/$pid/comm" || continue
    age=$(ps -o etimes= -p "$pid") || continue
    echo "$file $pid ${age##* } $name"
  done
echo '== updates'
set -- lib/dpkg/updates/[0-9]*
[ -e "$1" ] || shift
echo $#
echo '== unfinished'
dpkg-query -Wf '${db:Status-Abbrev}|${Package}\n' | grep -m 20 -E '^[a-z]([UFH]|.R)' || :
