#!/bin/sh
# Written by gpustack; a change here is undone by the next install.
# containerd asks this before it pulls an image (its docs/image-verification.md): an image of the list is pulled with the
# digest that it is listed with and no other. Where the list is whole, images that are not listed are none of ours, and
# pulled as ever. The last line of a whole list says how many there are; without it nothing is known, and nothing pulled.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
LIST=/etc/gpustack-cluster/images
name='' digest=''
while [ $# -gt 1 ]; do
  case $1 in -name) name=$2 ;; -digest) digest=$2 ;; esac
  shift
done
refuse() {
  echo "$1 (gpustack explain image-changed)"
  exit 1
}
if [ -z "$name" ] || [ -z "$digest" ]; then
  refuse "the verifier of images was called without -name or -digest"
fi
[ -r "$LIST" ] || refuse "there is no $LIST to compare with; run gpustack install"
wanted=$(awk -v name="$name" '
  ended { torn = 1 }
  /^# end [0-9]+$/ { ended = 1; total = $3; next }
  NF != 2 || $2 !~ /^sha256:[0-9a-f]+$/ || length($2) != 71 { torn = 1 }
  { count++ }
  $1 == name && wanted == "" { wanted = $2 }
  END { if (torn || !ended || total + 0 != count + 0) exit 1; print wanted }' "$LIST") ||
  refuse "$LIST is cut off or cannot be read: which images have a digest is not known; run gpustack install"
[ -n "$wanted" ] && [ "$wanted" != "$digest" ] || exit 0
refuse "it should be $wanted; somebody on the way changed it, or it was built anew"
