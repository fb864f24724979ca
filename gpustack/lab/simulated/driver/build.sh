#!/bin/sh
# build.sh OUT VERSION: compiles the simulated driver into OUT. Every file carries the version of the driver that it is.
set -eu
out=$1 version=$2 source=$(dirname "$0")
flags="-std=c11 -Os -Wall -Wextra -Werror -fvisibility=hidden -DDRIVER_VERSION=\"$version\""
shared="-fPIC -shared -Wl,--no-undefined -s"

# Words are meant to be split.
# shellcheck disable=SC2086
{
    gcc $flags $shared -Wl,-soname,libnvidia-ml.so.1 -o "$out/libnvidia-ml.so" "$source"/nvml_*.c \
        "$source/derived.c" "$source/state.c" -pthread
    gcc $flags $shared -Wl,-soname,libcuda.so.1 -o "$out/libcuda.so" "$source/cuda.c" "$source/state.c" -pthread
    gcc $flags -s -o "$out/nvidia-smi" "$source"/smi*.c -ldl
    gcc $flags -c -o "$out/nvidia.ko" "$source/module.c"
}
