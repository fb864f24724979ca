#!/bin/sh
echo '== logs'
cd /var/log/pods 2>/dev/null || exit 0
set --
for folder in "$GPU_NAMESPACE"_*/*/; do
  [ -d "$folder" ] || continue
  file=
  for log in "$folder"*.log; do
    [ ! -e "$log" ] || [ -n "$file" ] && [ ! "$log" -nt "$file" ] || file=$log
  done
  [ -z "$file" ] || set -- "$@" "$file"
done
output=
[ $# -eq 0 ] || output=$(
  { head -vc 16384 "$@"; echo; tail -vc 16384 "$@"; } | tr -cd '\11\12\40-\176' |
    grep -E '^==> .+[.]log <==$|PATTERNS' | awk '
      $1 == "==>" {split($2, path, "/"); split(path[1], pod, "_"); of = pod[2] " " path[2]; next}
      !(of in count) {order[++many] = of}
      {line[of, ++count[of]] = $0}
      END {
        for (at = 1; at <= many; at++) for (by = 4; by; by--) {
          of = order[at]
          if (by <= count[of]) print of, line[of, count[of] - by + 1]
        }
      }') || exit
[ -z "$output" ] || printf '%s\n' "$output"
[ -n "$output" ] || WRITABLE && exit 0
echo 'the disk of /var/log is full: no log says anything' >&2
exit 1
