/* Initialising, versions, and the words for return codes. */
#define _POSIX_C_SOURCE 200809L
#include "nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int users;

nvml_return put_text(char *into, unsigned size, const char *text)
{
    if (into == NULL)
        return INVALID_ARGUMENT;
    if (strlen(text) + 1 > size)
        return INSUFFICIENT_SIZE;
    strcpy(into, text);
    return SUCCESS;
}

nvml_return initialised(void)
{
    if (users == 0)
        return UNINITIALIZED;
    state_load();
    return SUCCESS;
}

nvml_return use(nvml_device device, int alive)
{
    nvml_return refused = initialised();

    if (refused != SUCCESS)
        return refused;
    if (!state_known(device))
        return INVALID_ARGUMENT;
    return alive && gpu_number(device, "lost", 0) != 0 ? GPU_IS_LOST : SUCCESS;
}

API nvml_return nvmlInit_v2(void)
{
    char loaded[32];
    /* A state that the environment names needs no module: tests and build machines have none. */
    int module = getenv("SIMULATED_GPU_STATE") ? 0 : module_version(loaded, sizeof loaded);

    if (module == 1 && strcmp(loaded, DRIVER_VERSION) != 0)
        return VERSION_MISMATCH;
    if (module < 0 || state_load() != 0)
        return DRIVER_NOT_LOADED;
    users++;
    return SUCCESS;
}

API nvml_return nvmlInit(void)
{
    return nvmlInit_v2();
}

API nvml_return nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

API nvml_return nvmlShutdown(void)
{
    if (users == 0)
        return UNINITIALIZED;
    users--;
    return SUCCESS;
}

API const char *nvmlErrorString(nvml_return code)
{
    switch (code) {
    case SUCCESS: return "Success";
    case UNINITIALIZED: return "Uninitialized";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NOT_SUPPORTED: return "Not Supported";
    case NO_PERMISSION: return "Insufficient Permissions";
    case NOT_FOUND: return "Not Found";
    case INSUFFICIENT_SIZE: return "Insufficient Size";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case TIMEOUT: return "Timeout";
    case GPU_IS_LOST: return "GPU is lost";
    case VERSION_MISMATCH: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

API nvml_return nvmlSystemGetDriverVersion(char *into, unsigned size)
{
    nvml_return refused = initialised();

    return refused ? refused : put_text(into, size, DRIVER_VERSION);
}

API nvml_return nvmlSystemGetNVMLVersion(char *into, unsigned size)
{
    /* The major version of the interface stands before the driver's. */
    return put_text(into, size, "13." DRIVER_VERSION);
}

API nvml_return nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    state_load();
    *version = state_cuda();
    return SUCCESS;
}

API nvml_return nvmlSystemGetCudaDriverVersion(int *version)
{
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

API nvml_return nvmlSystemGetProcessName(unsigned pid, char *name, unsigned size)
{
    (void)pid, (void)name, (void)size;
    return NOT_FOUND;
}
