#!/bin/sh
kernel() {
  headers=no
  [ ! -e "/lib/modules/$1/build/Makefile" ] || headers=yes
  module=$(modinfo -k "$1" -F version nvidia 2>/dev/null)
  module=${module%%
*}
  echo "$1 $headers ${module:--}"
}
kernel "$(uname -r)"
for image in /boot/vmlinuz-*; do
  [ ! -e "$image" ] || kernel "${image#/boot/vmlinuz-}"
done
packages=$(dpkg-query -Wf '${Package} ${db:Status-Status}\n' 'linux-image-*' 'linux-headers-*' 2>/dev/null)
set --
while read -r package status; do
  case $package/$status in
    *unsigned*) continue ;;
    linux-image-[!0-9]*/installed) image=${package#linux-image-} ;;
    *) continue ;;
  esac
  case "
$packages
" in *"
linux-headers-$image installed
"*) ;; *) set -- "$@" "linux-headers-$image" ;; esac
done <<PACKAGES
$packages
PACKAGES
[ $# -gt 0 ] || exit 0
candidates=$(apt-cache -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= madison apt "$@" 2>/dev/null |
  cut -d '|' -f 1 | tr -d ' ' | sort -u)
printf '%s\n' "$candidates" | grep -qx apt || exit 0
for name; do
  printf '%s\n' "$candidates" | grep -qxF "$name" || echo "unknown $name"
done
