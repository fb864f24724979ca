#!/bin/sh
# build.sh OUT VERSION: compiles the simulated driver into OUT. Every file carries the version of the driver that it is.
set -eu
out=$1 version=$2 source=$(dirname "$0")

compile() {
    gcc -std=c11 -Os -Wall -Wextra -Werror -fvisibility=hidden "-DDRIVER_VERSION=\"$version\"" "$@"
}

library() { # NAME SOURCE...
    name=$1
    shift
    compile -fPIC -shared -s -Wl,--no-undefined "-Wl,-soname,$name.so.1" -o "$out/$name.so" "$@" -pthread
}

library libnvidia-ml "$source"/nvml_*.c "$source/derived.c" "$source/state.c"
library libcuda "$source/cuda.c" "$source/state.c"
compile -s -o "$out/nvidia-smi" "$source"/smi*.c "$source/state.c" -ldl -pthread
compile -c -o "$out/nvidia.ko" "$source/module.c"
