/* libcuda as far as it goes without silicon: how many GPUs there are, and of which driver. No kernel runs here. */
#define _POSIX_C_SOURCE 200809L
#include "state.h"

#include <stdio.h>
#include <stdlib.h>

#define API __attribute__((visibility("default")))

enum { CUDA_SUCCESS = 0, CUDA_INVALID_VALUE = 1, CUDA_NOT_INITIALIZED = 3, CUDA_NO_DEVICE = 100, CUDA_INVALID_DEVICE = 101 };

static int ready;

API int cuInit(unsigned flags)
{
    char loaded[32];

    if (flags != 0)
        return CUDA_INVALID_VALUE;
    if (getenv("SIMULATED_GPU_STATE") == NULL && module_version(loaded, sizeof loaded) < 0)
        return CUDA_NO_DEVICE;
    if (state_load() != 0 || state_visible() == 0)
        return CUDA_NO_DEVICE;
    ready = 1;
    return CUDA_SUCCESS;
}

API int cuDriverGetVersion(int *version)
{
    state_load();
    *version = state_cuda();
    return CUDA_SUCCESS;
}

API int cuDeviceGetCount(int *count)
{
    if (!ready)
        return CUDA_NOT_INITIALIZED;
    state_load();
    *count = (int)state_visible();
    return CUDA_SUCCESS;
}

API int cuDeviceGet(int *device, int ordinal)
{
    if (!ready)
        return CUDA_NOT_INITIALIZED;
    if (ordinal < 0 || state_visible_at((unsigned)ordinal) == NULL)
        return CUDA_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

API int cuDeviceGetName(char *name, int size, int device)
{
    struct gpu *gpu = ready && device >= 0 ? state_visible_at((unsigned)device) : NULL;

    if (gpu == NULL || size < 1)
        return CUDA_INVALID_DEVICE;
    snprintf(name, (size_t)size, "%s", gpu->name);
    return CUDA_SUCCESS;
}
