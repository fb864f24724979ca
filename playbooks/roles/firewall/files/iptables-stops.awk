# Of `iptables -S`: CHAIN NUMBER of the first rule that stops all new connections, or CHAIN end if the policy does.
# A rule that jumps to a chain which ends so (LOGDROP) is one too.
function stops(text) {
  gsub(/ -m (tcp|udp|comment|conntrack|state)/, "", text)
  gsub(/ -p (tcp|udp|all)/, "", text)
  gsub(/ --comment ("[^"]*"|[^ ]+)/, "", text)
  gsub(/ --(ct)?state [A-Z,]*NEW[A-Z,]*/, "", text)
  split(text, word, " ")
  return text ~ /^ -[jg] / && (word[2] == "DROP" || word[2] == "REJECT" || word[2] in stopping)
}
$1 == "-P" { policy[$2] = $3 }
$1 == "-A" {
  name = $2
  sub(/^-A [^ ]+/, "")
  count[name]++
  rule[name, count[name]] = $0
}
END {
  for (round = 0; round < 3; round++)
    for (name in count)
      if (!(name in policy))
        for (i = 1; i <= count[name]; i++)
          if (stops(rule[name, i])) stopping[name] = 1
  for (name in policy) {
    for (i = 1; i <= count[name]; i++)
      if (stops(rule[name, i])) break
    if (i <= count[name]) print name, i
    else if (policy[name] == "DROP") print name, "end"
  }
}
