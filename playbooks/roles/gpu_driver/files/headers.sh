# shellcheck shell=sh
# Sets PACKAGES for apt-install.sh: headers of the running kernel and of the newest one, and the packages that will bring
# those of each further kernel. What apt does not know is left out: a kernel that is no distribution's has its own way to
# them, and a container runs the kernel of its machine.
PACKAGES=
headers() {
  ! apt-cache show "$1" >/dev/null 2>&1 || PACKAGES="$PACKAGES $1"
}
newest=$(find /boot -maxdepth 1 -name 'vmlinuz-*' | sed 's,.*/vmlinuz-,,' | sort -V | tail -n 1)
running=$(uname -r)
for kernel in "$running" $newest; do
  [ -e "/lib/modules/$kernel/build/Makefile" ] || headers "linux-headers-$kernel"
done
images=$(dpkg-query -Wf '${Package} ${db:Status-Status}\n' 'linux-image-*' 2>/dev/null || :)
for image in $(echo "$images" | sed -n 's/^linux-image-\([^0-9].*\) installed$/\1/p'); do
  case $image in unsigned-*) ;; *) headers "linux-headers-$image" ;; esac
done
