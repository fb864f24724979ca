#!/bin/sh
[ -n "${OUTSIDE_NAME:-}" ] || exit 0
command -v perl >/dev/null || exit 127
code=$(cat <<'P'
PROGRAM
P
)
echo "name $OUTSIDE_NAME"
{
  if timeout "$((3 * ${TIMEOUT_FACTOR:-1}))" getent -s dns ahostsv4 "$OUTSIDE_NAME" >/dev/null; then
    echo host ok
  else
    echo host no-answer
  fi
} &
net=${SERVICE_CIDR%/*}
read -r space address mtu <<S
$(pod_spaces 1)
S
if [ -n "$space" ]; then
  output=$(echo "ask name ${net%.*}.$((${net##*.} + 10))" |
    nsenter --net="$space" perl -e "$code" ask "$mtu" "$OUTSIDE_NAME") && echo "pod $address ${output#name }"
fi
wait
