/* The state of simulated GPUs: a text file that is read again at every call, so that its writer changes live GPUs.
 *
 *     driver 595.91.07
 *     cuda 13020
 *     load 1004 key=number …
 *     gpu uuid=GPU-… bus=0000:65:00.0 minor=0 name=NVIDIA_H100_80GB_HBM3 key=number …
 *
 * One line per GPU; an underscore in a name is a space. Keys of what it is: mem (MiB), maxlimit and idle (W), smmax and
 * memmax (MHz), maxop and slowdown (degrees C), pciid, arch (NVML's number), cc, pcie_gen, mig (there where it could).
 * Keys that are set live: used and reserved (MiB), temp (degrees C), power and limit (W), util and memutil (%), sm and
 * memclk (MHz), gr, sm_active, sm_occ, tensor, dram and viol_* (shares from 0 to 1), pcie_tx and pcie_rx (bytes/s),
 * energy (mJ), throttle (bits), lost=1 (fell off the bus), counters of errors. What is not set: derived.h.
 *
 * A line `load FIELD` has the keys of a GPU that DCGM's test of that field keeps busy. It does while a process has a lock
 * on the byte 65536 * minor + FIELD of this file, which containers can only read; what the GPU's line says itself stays.
 *
 * Events are appended to a second file. Code 0 ends what was reported before and is no event of the driver:
 *
 *     xid MINOR CODE SECONDS
 */
#ifndef SIMULATED_STATE_H
#define SIMULATED_STATE_H

#include <stddef.h>

#ifndef DRIVER_VERSION
#error "compile with -DDRIVER_VERSION=\"595.91.07\", the version that files and packages carry"
#endif

#define MOST_GPUS 64
#define MOST_TEXT 65536
#define LINE_SIZE 2048

/* One GPU. Its place in the table is its handle, which stays the same while the order of lines does. */
struct gpu {
    char line[LINE_SIZE];
    char uuid[96], bus[32], name[96], serial[32];
    unsigned minor;
};

/* Where state and events are: SIMULATED_GPU_STATE and SIMULATED_GPU_EVENTS, or the files that stand for firmware, because
 * nvidia-ctk mounts those into every container that gets a GPU. */
const char *state_path(void);
const char *events_path(void);

/* Reads the file. 0, or -1 where it cannot be read; what was read before then stays. */
int state_load(void);

/* How many GPUs this process can see: a container only has the device nodes that it was given. */
unsigned state_visible(void);
struct gpu *state_visible_at(unsigned index);
/* The place of a GPU among the visible ones, or -1. */
int state_index(const struct gpu *gpu);
/* All of them, visible or not. */
unsigned state_count(void);
struct gpu *state_at(unsigned place);
/* Whether it is an entry of the table, and not a pointer that a caller made up. */
int state_known(const struct gpu *gpu);

int state_cuda(void);
/* The value of a key, or the default where the line does not have it. */
double gpu_number(const struct gpu *gpu, const char *key, double otherwise);
int gpu_has(const struct gpu *gpu, const char *key);
int gpu_word(const struct gpu *gpu, const char *key, char *into, size_t size);

/* The version of the loaded kernel module. -1 where none is loaded, 0 where one is but does not tell its version, as in
 * containers; 1 with its version in `into`. */
int module_version(char *into, size_t size);

#endif
