#!/bin/sh
# A process may end while it is read. Of its command only the program and a first word that is no option are printed:
# options may hold secrets.
clean() { tr '\0\n\t' '   ' | tr -c '[:print:]' '?'; }
find /proc/[0-9]*/fd -maxdepth 1 -lname '/dev/nvidia*' 2>/dev/null | cut -d / -f 3 | sort -un | while read -r pid; do
  user=$(stat -c %U "/proc/$pid" 2>/dev/null) || continue
  name=$(clean 2>/dev/null <"/proc/$pid/comm") || continue
  line=$(sed -z 2q "/proc/$pid/cmdline" 2>/dev/null | clean)
  program='' word=''
  read -r program word _ <<EOF
$line
EOF
  case $word in -*) word='' ;; esac
  pod=$(grep -oE 'pod[0-9a-f]{8}([-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}' "/proc/$pid/cgroup" 2>/dev/null | head -n 1 | sed 's/^pod//' | tr _ -)
  printf '%s\t%s\t%s\t%s\n' "$pid" "$user" "${pod:--}" "${program:-[${name% }]}${word:+ $word}"
done
exit 0
