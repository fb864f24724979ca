#!/bin/sh
release=$(uname -r) folder=none
[ ! -d "/lib/modules/$release" ] || folder=empty
for file in modules.dep modules.builtin kernel; do
  [ ! -e "/lib/modules/$release/$file" ] || folder=whole
done
printf '== kernel\n%s %s\n== others\n' "$release" "$folder"
for file in /lib/modules/*/modules.dep; do
  dir=${file%/modules.dep}
  [ ! -e "$file" ] || [ "${dir##*/}" = "$release" ] || echo "${dir##*/}"
done
echo '== named'
set --
for file in /etc/modules-load.d/*.conf /run/modules-load.d/*.conf /usr/local/lib/modules-load.d/*.conf \
  /usr/lib/modules-load.d/*.conf /etc/modules; do
  [ ! -f "$file" ] || set -- "$@" "$file"
done
[ $# -eq 0 ] || grep -hvE '^ *([#;]|$)' "$@" || [ $? -eq 1 ] || exit
echo '== builtin'
list=/lib/modules/$release/modules.builtin
[ ! -e "$list" ] || builtin_paths=$(grep -oE '/(overlay|br_netfilter)\.ko' "$list") || [ $? -eq 1 ] || exit 1
for name in overlay br_netfilter; do
  case ${builtin_paths-} in *"/$name.ko"*) echo "$name" ;; esac
done
exit 0
