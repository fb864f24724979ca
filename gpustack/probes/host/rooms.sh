#!/bin/sh
# Print what `df -k --output=file,size,avail,itotal,iavail` prints of paths, with 0 for what a file system does not count.
print_rooms() {
  while read -r path size free inodes free_inodes; do
    case $path in /*) ;; *) continue ;; esac
    for count in "$size" "$free" "$inodes" "$free_inodes"; do
      [ "$count" != - ] || count=0
      path="$path $count"
    done
    echo "$path"
  done
}
