/* What a caller of NVML and this library agree on: return codes, handles and structures of its documented interface, in
 * declarations of our own. Only what is answered here. */
#ifndef SIMULATED_NVML_H
#define SIMULATED_NVML_H

#include "state.h"

#define API __attribute__((visibility("default")))

typedef int nvml_return;
typedef struct gpu *nvml_device;
typedef unsigned long long u64;

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
    TIMEOUT = 10,
    GPU_IS_LOST = 15,
    VERSION_MISMATCH = 18,
    UNKNOWN = 999
};

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct nvml_memory {
    u64 total, free, used;
};

struct nvml_memory_v2 {
    unsigned version;
    u64 total, reserved, free, used;
};

struct nvml_utilization {
    unsigned gpu, memory;
};

struct nvml_violation {
    u64 reference, violation;
};

struct nvml_event {
    nvml_device device;
    u64 type, data;
    unsigned gpu_instance, compute_instance;
};

struct nvml_events;

/* Whether the library was initialised and the handle is one of ours, with the state read anew. A GPU that is lost gives
 * GPU_IS_LOST where `alive` is asked for. */
nvml_return use(nvml_device device, int alive);
nvml_return initialised(void);
nvml_return put_text(char *into, unsigned size, const char *text);

/* The first line of a function about a GPU. */
#define LIVE(device)                                                                                                   \
    do {                                                                                                               \
        nvml_return refused = use(device, 1);                                                                          \
        if (refused != SUCCESS)                                                                                        \
            return refused;                                                                                            \
    } while (0)

#endif
