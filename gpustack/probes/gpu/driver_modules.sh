#!/bin/sh
# Name, use count and users of the module nvidia, of the modules that use it, of those that use them, and so on. Sizes
# and addresses stay on the host.
[ -r /proc/modules ] || { echo 'the kernel shows no /proc/modules' >&2; exit 1; }
awk '
  {count[$1] = $3; users[$1] = $4}
  END {
    found["nvidia"] = 1
    do {
      more = 0
      for (name in found) {
        many = split(users[name], list, ",")
        for (at = 1; at <= many; at++)
          if (list[at] in count && !(list[at] in found)) {found[list[at]] = 1; more = 1}
      }
    } while (more)
    for (name in found) if (name in count) print name, count[name], users[name]
  }' /proc/modules | sort
