#!/bin/sh

# toml_keys KEEP [TITLE FILE]...: files stay open, as mawk 1.3.4 crashes where it is to close /dev/stdin.
toml_keys() {
  keep=$1
  shift
  awk -v keep="^($keep)\$" -v header='# Written by gpustack; a change here is undone by the next install.' '
  function bare(text, out, word, before) {
    while (match(text, /[^][{},= \t]+/)) {
      word = substr(text, RSTART, RLENGTH)
      out = out substr(text, 1, RSTART - 1)
      text = substr(text, RSTART + RLENGTH)
      before = out
      gsub(/[ \t]/, "", before)
      # A key of an inline table.
      if (before ~ /[{,]$/ && text ~ /^[ \t]*=/) out = out word
      else out = out (word ~ value ? word : "REDACTED")
    }
    return out text
  }
  function blank(text, whole, out, word, mark, part, at) {
    while (match(text, "\"([^\"\\\\]|\\\\.)*\"|\047[^\047]*\047")) {
      word = substr(text, RSTART, RLENGTH)
      part = substr(text, 1, RSTART - 1)
      text = substr(text, RSTART + RLENGTH)
      if (at = index(part, "#")) return out bare(substr(part, 1, at - 1))
      out = out bare(part)
      mark = substr(word, 1, 1)
      if (whole || length(word) == 2 || word ~ /^"(same|other), mode [0-7][0-7][0-7][0-7]"$/) out = out word
      else out = out mark "REDACTED" mark
    }
    mark = ""
    if (match(text, "[\"\047#]")) {
      mark = substr(text, RSTART, 1)
      text = substr(text, 1, RSTART - 1)
    }
    return out bare(text) (mark == "#" ? "" : mark)
  }
  function depth_of(text, opened, closed) {
    text = blank(text)
    opened = gsub("[[{]", "", text)
    closed = gsub("[]}]", "", text)
    return opened - closed
  }
  function show_line() {
    sub(/\r$/, "")
    if (long != "") {
      at = index($0, long)
      print at ? long : ""
      if (at) long = ""
      return
    }
    if (depth <= 0) {
      depth = 0
      if ($0 ~ /^[ \t]*(#|$)/) { print lines == 1 && $0 == header ? $0 : ""; return }
      if ($0 ~ /^[ \t]*\[/) {
        sub(/\][ \t]*#.*$/, "]")
        print $0 ~ table ? $0 : "[REDACTED"
        return
      }
      if (! match($0, keys "=")) { print "REDACTED"; return }
      name = $0
      sub(/=.*/, "", name)
      sub(/[ \t]*$/, "", name)
      sub(/.*[. \t]/, "", name)
      gsub("[\"\047]", "", name)
      kept = name ~ keep
    }
    if (! match($0, keys "=")) RLENGTH = 0
    begun = substr($0, 1, RLENGTH)
    rest = substr($0, RLENGTH + 1)
    # A list that was never closed has lines of others.
    kept = kept && (depth ? $0 : rest) ~ texts
    if (match(rest, "\"\"\"|\047\047\047")) {
      long = substr(rest, RSTART, 3)
      begun = begun blank(substr(rest, 1, RSTART - 1)) long
      rest = substr(rest, RSTART + 3)
      print index(rest, long) ? (kept ? $0 : begun "REDACTED" long) : begun
      if (index(rest, long)) long = ""
      return
    }
    depth += depth_of(rest)
    print begun blank(rest, kept)
  }
  BEGIN {
    key = "([A-Za-z0-9_-]+|\"[^\"]*\"|\047[^\047]*\047)"
    keys = "^[ \t]*" key "([ \t]*[.][ \t]*" key ")*[ \t]*"
    table = "^[ \t]*[[][[]?[ \t]*" key "([ \t]*[.][ \t]*" key ")*[ \t]*[]][]]?[ \t]*$"
    texts = "^[][ \t,]*(([0-9]+|\"[^\"]*\"|\047[^\047]*\047)[][ \t,]*)*(#.*)?$"
    number = "[-+]?[0-9][0-9_.]*([eE][-+]?[0-9]+)?|0[xob][0-9A-Fa-f_]+"
    time = "[0-9-]+[Tt]?[0-9:.]*[Zz]?([-+][0-9:]+)?"
    value = "^(true|false|[-+]?(inf|nan)|" number "|" time ")$"
    for (i = 1; i < ARGC; i += 2) {
      print "== " ARGV[i]
      lines = depth = 0
      long = ""
      while (0 < (getline < ARGV[i + 1])) {
        lines++
        show_line()
      }
      print ""
    }
  }' "$@"
}
