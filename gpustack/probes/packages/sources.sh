#!/bin/sh
echo '== sources'
cd /etc/apt 2>/dev/null || { echo '== keys'; exit 0; }
set --
for file in sources.list sources.list.d/*.list; do
  [ ! -e "$file" ] || set -- "$@" "$file"
done
[ $# -eq 0 ] || awk '$1 == "deb" {
  key = parts = options = ""
  sub(/#.*/, "")
  if (match($0, /\[[^]]*\]/)) {
    options = substr($0, RSTART + 1, RLENGTH - 2)
    $0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
  }
  if (match(options, /signed-by=[^ ]+/)) key = substr(options, RSTART + 10, RLENGTH - 10)
  if (options ~ /(UNSIGNED)=/) key = ""
  for (i = 4; i <= NF; i++) parts = parts " " $i
  print FILENAME "|" $2 "|" $3 "|" key "|yes|" parts
}' "$@" || exit
for file in sources.list.d/*.sources; do
  [ -e "$file" ] || continue
  set -- "$@" "$file"
  awk -v file="$file" 'BEGIN { RS = ""; FS = "\n" } {
    types = uri = suite = key = parts = field = ""; on = "yes"; loose = 0
    for (i = 1; i <= NF; i++) {
      if ($i ~ /^#/) continue
      value = $i
      if ($i !~ /^[ \t]/) {
        field = tolower($i); sub(/:.*/, "", field)
        sub(/^[^:]*:[ \t]*/, "", value)
        if (field == "signed-by" && value ~ /^\//) key = value
      }
      if (field == "types") types = types " " value " "
      if (field == "uris") uri = uri " " value
      if (field == "suites") suite = suite " " value
      if (field == "components") parts = parts " " value
      if (field == "enabled") on = value
      if (field ~ /^(UNSIGNED)$/) loose = 1
    }
    if (uri != "" && types ~ / deb /) print file "|" uri "|" suite "|" (loose ? "" : key) "|" on "|" parts
  }' "$file" || exit
done
echo '== keys'
paths=$([ $# -eq 0 ] || grep -ohiE '(signed-by=|^signed-by: *)/[^] ,]+' "$@") || [ $? -eq 1 ] || exit
[ -z "$paths" ] || printf '%s\n' "$paths" |
  sed 's,^[^/]*,,' | sort -u | while read -r key; do
    command -v gpg >/dev/null || { echo "key ? $key"; continue; }
    echo "key $(stat -Lc %s "$key" 2>/dev/null || echo -) $key"
    show_keys "$key" | grep -E '^(pub|sub|fpr):'
  done
echo '== refused'
apt-get indextargets 2>&1 >/dev/null | grep '^E: ' | sort -u
exit 0
