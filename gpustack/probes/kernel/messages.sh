#!/bin/sh
# Print the errors, OOM kills and denials in the kernel's log of the last day, the last twenty of each.
journal=$(journalctl -q -b --since=-24h _TRANSPORT=kernel _TRANSPORT=audit -n 3000 -o json \
  --output-fields=PRIORITY,MESSAGE --no-pager) || exit
echo '== errors'
printf '%s\n' "$journal" | grep -aE '"PRIORITY":"[0-3]"' | tail -n 20
echo '== kills'
printf '%s\n' "$journal" | grep -aE '"MESSAGE":"oom-kill:' | tail -n 20
echo '== denials'
printf '%s\n' "$journal" | grep -aE 'apparmor=\\"DENIED\\"|avc:  denied|type=1326 ' | tail -n 20
exit 0
