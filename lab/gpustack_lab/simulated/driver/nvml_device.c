/* Handles, and what a GPU is: names, bus, architecture. */
#define _POSIX_C_SOURCE 200809L
#include "nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VENDOR 0x10deU

API nvml_return nvmlDeviceGetCount_v2(unsigned *count)
{
    nvml_return refused = initialised();

    if (refused == SUCCESS)
        *count = state_visible();
    return refused;
}

API nvml_return nvmlDeviceGetCount(unsigned *count)
{
    return nvmlDeviceGetCount_v2(count);
}

static nvml_return give(struct gpu *found, nvml_device *device)
{
    if (found == NULL || state_index(found) < 0)
        return NOT_FOUND;
    *device = found;
    return gpu_number(found, "lost", 0) != 0 ? GPU_IS_LOST : SUCCESS;
}

API nvml_return nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device)
{
    nvml_return refused = initialised();

    if (refused != SUCCESS)
        return refused;
    return index < state_visible() ? give(state_visible_at(index), device) : INVALID_ARGUMENT;
}

API nvml_return nvmlDeviceGetHandleByIndex(unsigned index, nvml_device *device)
{
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

/* The driver remembers a UUID: it names a GPU that is lost, too. */
API nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device)
{
    nvml_return refused = initialised();
    struct gpu *gpu;

    if (refused != SUCCESS)
        return refused;
    for (unsigned i = 0; (gpu = state_at(i)) != NULL; i++)
        if (strcmp(gpu->uuid, uuid) == 0)
            return give(gpu, device) == NOT_FOUND ? NOT_FOUND : SUCCESS;
    return NOT_FOUND;
}

API nvml_return nvmlDeviceGetHandleBySerial(const char *serial, nvml_device *device)
{
    nvml_return refused = initialised();
    struct gpu *gpu;

    if (refused != SUCCESS)
        return refused;
    for (unsigned i = 0; (gpu = state_at(i)) != NULL; i++)
        if (strcmp(gpu->serial, serial) == 0)
            return give(gpu, device);
    return NOT_FOUND;
}

static int bus_of(const char *text, unsigned at[3])
{
    return sscanf(text, "%x:%x:%x", &at[0], &at[1], &at[2]) == 3;
}

API nvml_return nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvml_device *device)
{
    nvml_return refused = initialised();
    unsigned wanted[3], has[3];
    struct gpu *gpu;

    if (refused != SUCCESS)
        return refused;
    if (!bus_of(bus, wanted))
        return INVALID_ARGUMENT;
    for (unsigned i = 0; (gpu = state_at(i)) != NULL; i++)
        if (bus_of(gpu->bus, has) && memcmp(wanted, has, sizeof has) == 0)
            return give(gpu, device);
    return NOT_FOUND;
}

API nvml_return nvmlDeviceGetHandleByPciBusId(const char *bus, nvml_device *device)
{
    return nvmlDeviceGetHandleByPciBusId_v2(bus, device);
}

API nvml_return nvmlDeviceGetIndex(nvml_device device, unsigned *index)
{
    LIVE(device);
    if (state_index(device) < 0)
        return NOT_FOUND;
    *index = (unsigned)state_index(device);
    return SUCCESS;
}

API nvml_return nvmlDeviceGetUUID(nvml_device device, char *into, unsigned size)
{
    nvml_return refused = use(device, 0);

    return refused ? refused : put_text(into, size, device->uuid);
}

API nvml_return nvmlDeviceGetMinorNumber(nvml_device device, unsigned *minor)
{
    LIVE(device);
    *minor = device->minor;
    return SUCCESS;
}

API nvml_return nvmlDeviceGetName(nvml_device device, char *into, unsigned size)
{
    LIVE(device);
    return put_text(into, size, device->name);
}

API nvml_return nvmlDeviceGetSerial(nvml_device device, char *into, unsigned size)
{
    LIVE(device);
    return device->serial[0] ? put_text(into, size, device->serial) : NOT_SUPPORTED;
}

API nvml_return nvmlDeviceGetVbiosVersion(nvml_device device, char *into, unsigned size)
{
    LIVE(device);
    return put_text(into, size, "00.00.00.00.00");
}

API nvml_return nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *pci)
{
    unsigned at[3] = {0, 0, 0};
    char id[16] = "0";
    nvml_return refused = use(device, 0);

    if (refused != SUCCESS)
        return refused;
    bus_of(device->bus, at);
    gpu_word(device, "pciid", id, sizeof id);
    memset(pci, 0, sizeof *pci);
    pci->domain = at[0], pci->bus = at[1] & 0xff, pci->device = at[2] & 0xff;
    pci->device_id = (unsigned)strtoul(id, NULL, 16) << 16 | VENDOR;
    pci->subsystem_id = pci->device_id;
    snprintf(pci->bus_id_legacy, sizeof pci->bus_id_legacy, "%04X:%02X:%02X.0", pci->domain & 0xffff, pci->bus,
             pci->device);
    snprintf(pci->bus_id, sizeof pci->bus_id, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
    return SUCCESS;
}

API nvml_return nvmlDeviceGetPciInfo_v2(nvml_device device, struct nvml_pci *pci)
{
    return nvmlDeviceGetPciInfo_v3(device, pci);
}

API nvml_return nvmlDeviceGetPciInfo(nvml_device device, struct nvml_pci *pci)
{
    return nvmlDeviceGetPciInfo_v3(device, pci);
}

API nvml_return nvmlDeviceGetArchitecture(nvml_device device, unsigned *architecture)
{
    LIVE(device);
    *architecture = (unsigned)gpu_number(device, "arch", 0xffffffff);
    return SUCCESS;
}

API nvml_return nvmlDeviceGetCudaComputeCapability(nvml_device device, int *major, int *minor)
{
    char text[16] = "";

    LIVE(device);
    gpu_word(device, "cc", text, sizeof text);
    return sscanf(text, "%d.%d", major, minor) == 2 ? SUCCESS : UNKNOWN;
}

API nvml_return nvmlDeviceGetBrand(nvml_device device, unsigned *brand)
{
    LIVE(device);
    *brand = strncmp(device->name, "Tesla ", 6) == 0 ? 2 : 14;
    return SUCCESS;
}
