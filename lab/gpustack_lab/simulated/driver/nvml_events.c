/* Critical errors as they happen: lines appended to the file of events. */
#define _POSIX_C_SOURCE 200809L
#include "nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SINGLE_BIT 1ULL
#define DOUBLE_BIT 2ULL
#define XID 8ULL
#define NONE 0xffffffffU /* of instances: the whole GPU */
#define STEP 100L        /* milliseconds between looks */

/* How far it has read, and whose events it wants. */
struct nvml_events {
    long offset;
    unsigned char wanted[MOST_GPUS];
};

API nvml_return nvmlDeviceGetSupportedEventTypes(nvml_device device, u64 *types)
{
    LIVE(device);
    *types = SINGLE_BIT | DOUBLE_BIT | XID;
    return SUCCESS;
}

API nvml_return nvmlEventSetCreate(struct nvml_events **set)
{
    nvml_return refused = initialised();
    FILE *file;

    if (refused != SUCCESS)
        return refused;
    *set = calloc(1, sizeof **set);
    if (*set == NULL)
        return UNKNOWN;
    /* What happened before nobody listened is not told. */
    file = fopen(events_path(), "r");
    if (file != NULL) {
        if (fseek(file, 0, SEEK_END) == 0)
            (*set)->offset = ftell(file);
        fclose(file);
    }
    return SUCCESS;
}

API nvml_return nvmlEventSetFree(struct nvml_events *set)
{
    free(set);
    return SUCCESS;
}

API nvml_return nvmlDeviceRegisterEvents(nvml_device device, u64 types, struct nvml_events *set)
{
    LIVE(device);
    if (types & XID && device->minor < MOST_GPUS)
        set->wanted[device->minor] = 1;
    return SUCCESS;
}

static struct gpu *of_minor(unsigned minor)
{
    struct gpu *gpu;

    for (unsigned i = 0; (gpu = state_at(i)) != NULL; i++)
        if (gpu->minor == minor)
            return gpu;
    return NULL;
}

/* The next event of a GPU that is listened to. 1 where there is one. A line without its end is still being written. */
static int next(struct nvml_events *set, struct nvml_event *event)
{
    FILE *file = fopen(events_path(), "r");
    char line[256];
    int found = 0;

    if (file == NULL)
        return 0;
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) < set->offset)
        set->offset = 0; /* the file was made anew */
    fseek(file, set->offset, SEEK_SET);
    while (!found && fgets(line, sizeof line, file) != NULL && strchr(line, '\n') != NULL) {
        unsigned minor;
        u64 code;

        set->offset = ftell(file);
        if (sscanf(line, "xid %u %llu", &minor, &code) != 2 || code == 0 || minor >= MOST_GPUS || !set->wanted[minor])
            continue;
        state_load();
        event->device = of_minor(minor);
        event->type = XID;
        event->data = code;
        event->gpu_instance = event->compute_instance = NONE;
        found = event->device != NULL;
    }
    fclose(file);
    return found;
}

API nvml_return nvmlEventSetWait_v2(struct nvml_events *set, struct nvml_event *event, unsigned milliseconds)
{
    nvml_return refused = initialised();
    struct timespec pause = {0, STEP * 1000000L};

    if (refused != SUCCESS)
        return refused;
    for (unsigned waited = 0;; waited += STEP) {
        if (next(set, event))
            return SUCCESS;
        if (waited >= milliseconds)
            return TIMEOUT;
        nanosleep(&pause, NULL);
    }
}

API nvml_return nvmlEventSetWait(struct nvml_events *set, struct nvml_event *event, unsigned milliseconds)
{
    return nvmlEventSetWait_v2(set, event, milliseconds);
}
