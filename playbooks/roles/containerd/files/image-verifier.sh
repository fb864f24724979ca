#!/bin/sh
# Written by gpustack; a change here is undone by the next install.
# containerd asks this before it pulls an image (its docs/image-verification.md): an image of the list is pulled with the
# digest that it is listed with and no other. Images that are not listed are none of ours, and pulled as ever.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
name='' digest=''
while [ $# -gt 1 ]; do
  case $1 in -name) name=$2 ;; -digest) digest=$2 ;; esac
  shift
done
if [ ! -r /etc/gpustack-cluster/images ]; then
  echo "there is no /etc/gpustack-cluster/images to compare with; run gpustack install (gpustack explain image-changed)"
  exit 1
fi
wanted=$(awk -v name="$name" '$1 == name { print $2; exit }' /etc/gpustack-cluster/images) || exit
[ -n "$wanted" ] && [ "$wanted" != "$digest" ] || exit 0
echo "it should be $wanted; somebody on the way changed it, or it was built anew (gpustack explain image-changed)"
exit 1
