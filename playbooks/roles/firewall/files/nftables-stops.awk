# Of `nft -a list table`: CHAIN HOOK HANDLE of the first rule that stops all new connections, or CHAIN HOOK end if the
# policy does.
function stops(text, word) {
  gsub(/counter packets [0-9]+ bytes [0-9]+ /, "", text)
  gsub(/log (prefix "[^"]*" )?((level|flags|group|snaplen|queue-threshold) [a-z0-9]+ )*/, "", text)
  gsub(/(meta l4proto|ip protocol) (tcp|udp|\{ tcp, udp \}) /, "", text)
  gsub(/ct state (new|\{ [a-z, ]*new[a-z, ]* \}) /, "", text)
  split(text, word, " ")
  return word[1] == "drop" || word[1] == "reject" || ((word[1] == "jump" || word[1] == "goto") && word[2] in stopping)
}
$1 == "chain" { name = $2; next }
name && $1 == "type" {
  if ($2 == "filter" && ($4 == "input" || $4 == "forward" || $4 == "output")) { hook[name] = $4; policy[name] = /policy drop/ }
  else name = ""
  next
}
$1 == "}" { name = ""; next }
name && / # handle [0-9]+$/ {
  count[name]++
  handle[name, count[name]] = $NF
  sub(/^[ \t]+/, "")
  sub(/ # handle [0-9]+$/, "")
  rule[name, count[name]] = $0
}
END {
  for (round = 0; round < 3; round++)
    for (name in count)
      if (!(name in hook))
        for (i = 1; i <= count[name]; i++)
          if (stops(rule[name, i])) stopping[name] = 1
  for (name in hook) {
    for (i = 1; i <= count[name]; i++)
      if (stops(rule[name, i])) break
    if (i <= count[name]) print name, hook[name], handle[name, i]
    else if (policy[name]) print name, hook[name], "end"
  }
}
