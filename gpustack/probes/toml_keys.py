"""A file of containerd's as it leaves the host: tables, keys, numbers, and the texts of the keys that are named. Logins
of registries, headers, comments and whatever else stands there stay on the host; lines keep their numbers, and what is
no TOML stays none, so that the parser finds the same fault at the same place.

A text that says how a login compares (`same, mode 0600`) was put there by the probe, and stays.
"""

FUNCTION = r"""
toml_keys() {
  awk -v keep="^($1)\$" -v ours='# Written by gpustack; a change here is undone by the next install.' '
  function blank(text, whole, out, word, mark, at) {
    while (match(text, "\"([^\"\\\\]|\\\\.)*\"|\047[^\047]*\047")) {
      word = substr(text, RSTART, RLENGTH)
      out = out substr(text, 1, RSTART - 1)
      text = substr(text, RSTART + RLENGTH)
      if (at = index(out, "#")) return substr(out, 1, at - 1)
      mark = substr(word, 1, 1)
      if (whole || length(word) == 2 || word ~ /^"(same|other), mode [0-7][0-7][0-7][0-7]"$/) out = out word
      else out = out mark "REDACTED" mark
    }
    if (! whole && match(text, "[\"\047]")) text = substr(text, 1, RSTART)
    out = out text
    if (at = index(out, "#")) out = substr(out, 1, at - 1)
    return out
  }
  function depth_of(text, opened, closed) {
    text = blank(text)
    opened = gsub("[[{]", "", text)
    closed = gsub("[]}]", "", text)
    return opened - closed
  }
  {
    if (long != "") {
      at = index($0, long)
      print kept ? $0 : at ? long : ""
      if (at) long = ""
      next
    }
    if (depth <= 0) {
      depth = 0
      if ($0 ~ /^[ \t]*(#|$)/) { print NR == 1 && $0 == ours ? $0 : ""; next }
      if ($0 ~ /^[ \t]*\[/) { sub(/\][ \t]*#.*$/, "]"); print; next }
      key = $0
      sub(/=.*/, "", key)
      sub(/[ \t]*$/, "", key)
      sub(/.*[. \t]/, "", key)
      gsub("[\"\047]", "", key)
      kept = key ~ keep
    }
    if (match($0, "\"\"\"|\047\047\047")) {
      long = substr($0, RSTART, 3)
      start = substr($0, 1, RSTART + 2)
      rest = substr($0, RSTART + 3)
      print kept ? $0 : index(rest, long) ? start "REDACTED" long : start
      if (index(rest, long)) long = ""
      next
    }
    depth += depth_of($0)
    if (kept) print blank($0, 1)
    else if (match($0, /^[^=]*=/)) print substr($0, 1, RLENGTH) blank(substr($0, RLENGTH + 1))
    else print blank($0)
  }'
}
"""
