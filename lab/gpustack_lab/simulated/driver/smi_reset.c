/* `nvidia-smi --gpu-reset`: the driver forgets what it reported of a GPU. A GPU that fell off the bus is not reset, and
 * whether a process has one open is not looked at: the driver is no kernel's. */
#define _DEFAULT_SOURCE
#include "smi.h"
#include "state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define NO_DEVICES 6
#define FAILED 1

static const char *const FORGOTTEN[] = {"xid", "recovery", "remap_pending", "ecc_sbe", "ecc_dbe"};

static int is_selected(const char *selection, unsigned index, const char *uuid, const char *bus)
{
    char list[4096], number[16], *rest = list, *word;

    snprintf(list, sizeof list, "%s", selection);
    snprintf(number, sizeof number, "%u", index);
    while ((word = strtok_r(rest, ",", &rest)) != NULL)
        if (!strcmp(word, number) || !strcmp(word, uuid) || !strcmp(word, bus))
            return 1;
    return *selection == '\0';
}

static int is_forgotten(const char *word)
{
    size_t length = strcspn(word, "=");

    for (size_t i = 0; i < sizeof FORGOTTEN / sizeof *FORGOTTEN; i++)
        if (strlen(FORGOTTEN[i]) == length && !strncmp(word, FORGOTTEN[i], length))
            return 1;
    return 0;
}

/* Copies the state without the words that are forgotten in the lines of these GPUs. */
static void copy(char *text, char uuids[][96], unsigned chosen, char *into)
{
    char *lines = text, *line;

    while ((line = strtok_r(lines, "\n", &lines)) != NULL) {
        char *words = line, *word;
        int cut = 0;

        for (unsigned i = 0; i < chosen; i++)
            cut = cut || (!strncmp(line, "gpu ", 4) && strstr(line, uuids[i]) != NULL);
        while ((word = strtok_r(words, " ", &words)) != NULL)
            if (!cut || !is_forgotten(word))
                into += sprintf(into, "%s%s", word == line ? "" : " ", word);
        into += sprintf(into, "\n");
    }
}

static int forget(char uuids[][96], unsigned chosen)
{
    static char before[MOST_TEXT], after[MOST_TEXT], padded[MOST_TEXT];
    int file = open(state_path(), O_RDWR | O_CLOEXEC);
    ssize_t length = -1, fresh;

    if (file < 0 || flock(file, LOCK_EX) != 0 || (length = read(file, before, sizeof before - 1)) < 0) {
        perror(state_path());
        return FAILED;
    }
    copy(before, uuids, chosen, after);
    fresh = (ssize_t)strlen(after);
    memset(padded, '\n', sizeof padded);
    memcpy(padded, after, (size_t)fresh);
    /* In one piece that is no shorter than before: a reader meanwhile finds whole lines. */
    if (pwrite(file, padded, (size_t)(length > fresh ? length : fresh), 0) < 0 || ftruncate(file, fresh) != 0) {
        perror(state_path());
        return FAILED;
    }
    return close(file);
}

int reset_gpus(const char *selection)
{
    static char uuids[MOST_GPUS][96];
    unsigned chosen = 0, minors[MOST_GPUS];
    char buses[MOST_GPUS][32];
    FILE *events;

    for (unsigned i = 0; i < count() && chosen < MOST_GPUS; i++) {
        nvml_device device = handle(i);
        struct nvml_pci pci;

        memset(&pci, 0, sizeof pci);
        nvml.DeviceGetUUID(device, uuids[chosen], sizeof *uuids);
        nvml.DeviceGetPciInfo_v3(device, &pci);
        if (is_selected(selection, i, uuids[chosen], pci.bus_id)) {
            minors[chosen] = i;
            snprintf(buses[chosen++], sizeof *buses, "%s", pci.bus_id);
        }
    }
    if (chosen == 0)
        return puts("No devices were found"), NO_DEVICES;
    if (forget(uuids, chosen) != 0)
        return FAILED;
    events = fopen(events_path(), "a");
    for (unsigned i = 0; i < chosen; i++) {
        if (events != NULL)
            fprintf(events, "xid %u 0 %ld\n", minors[i], (long)time(NULL));
        printf("GPU %s was successfully reset.\n", buses[i]);
    }
    if (events != NULL)
        fclose(events);
    return 0;
}
