#!/bin/sh
# Removes iptables chains and every rule that jumps to one of them, in one transaction per table; no other rule is
# touched. Reads CHAINS (an extended regular expression that matches whole names). Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL

# Of iptables-save: what iptables-restore --noflush takes them away with. A chain that is named there is emptied first.
transaction() {
  awk -v chain_pattern="^($CHAINS)\$" '
    /^\*/ { table = $0; named = dropped = jumps = "" }
    /^:/ && substr($1, 2) ~ chain_pattern {
      name = substr($1, 2)
      named = named ":" name " - [0:0]\n"
      dropped = dropped "-X " name "\n"
    }
    $1 == "-A" && $2 !~ chain_pattern {
      text = $0
      gsub(/"([^"\\]|\\.)*"/, "", text) # comments of people
      n = split(text, word, " ")
      for (i = 3; i < n; i++)
        if ((word[i] == "-j" || word[i] == "-g") && word[i + 1] ~ chain_pattern) { sub(/^-A/, "-D"); jumps = jumps $0 "\n"; break }
    }
    $1 == "COMMIT" && named { printf "%s\n%s%s%sCOMMIT\n", table, named, jumps, dropped }'
}

for tool in iptables ip6tables; do
  command -v "$tool-save" >/dev/null || continue
  other_tool=
  # Two kernel interfaces may both have rules. Asking the older one loads its modules: only where it has tables.
  if [ -s "/proc/net/${tool%tables}_tables_names" ]; then
    case $("$tool" -V) in *nf_tables*) other_tool=$tool-legacy ;; esac
  fi
  for program in $tool $other_tool; do
    # Of each interface on its own: a failure of iptables-save must not look like "no chains".
    rules=$("$program-save")
    commands=$(printf '%s\n' "$rules" | transaction)
    [ -n "$commands" ] || continue
    printf '%s\n' "$commands" | "$program-restore" -w 10 --noflush
    echo "changed: $program: removed $(printf '%s\n' "$commands" | grep -c '^-X') chains"
  done
done
