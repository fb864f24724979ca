#define _GNU_SOURCE /* F_OFD_GETLK */
#include "state.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_LOADS 64
#define FIELDS 65536 /* bytes that a GPU has for locks */
#define FIRMWARE "/lib/firmware/nvidia/" DRIVER_VERSION "/"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gpu table[MOST_GPUS];
static unsigned known;
static int cuda = 13020;

const char *state_path(void)
{
    const char *said = getenv("SIMULATED_GPU_STATE");
    return said ? said : FIRMWARE "gsp_ga10x.bin";
}

const char *events_path(void)
{
    const char *said = getenv("SIMULATED_GPU_EVENTS");
    return said ? said : FIRMWARE "gsp_events.bin";
}

/* Copies the value of ` key=value` out of a line. Gives 0 where the line has no such key. */
static int find(const char *line, const char *key, char *into, size_t size)
{
    size_t length = strlen(key), i = 0;
    const char *at = line;

    while ((at = strstr(at, key)) != NULL && !(at > line && at[-1] == ' ' && at[length] == '='))
        at += length;
    if (at == NULL)
        return 0;
    for (at += length + 1; *at && *at != ' ' && i + 1 < size; at++)
        into[i++] = *at;
    into[i] = '\0';
    return 1;
}

/* Other threads read names without a lock: a GPU whose line is the same is not touched, and bytes that stay the same are
 * written as they were. */
static void read_gpu(const char *line, unsigned place)
{
    static struct gpu fresh;
    char minor[16] = "";

    if (strcmp(table[place].line, line) == 0)
        return;
    memset(&fresh, 0, sizeof fresh);
    snprintf(fresh.line, sizeof fresh.line, "%s", line);
    find(line, "uuid", fresh.uuid, sizeof fresh.uuid);
    find(line, "bus", fresh.bus, sizeof fresh.bus);
    find(line, "serial", fresh.serial, sizeof fresh.serial);
    find(line, "name", fresh.name, sizeof fresh.name);
    fresh.minor = find(line, "minor", minor, sizeof minor) ? (unsigned)atoi(minor) : place;
    for (char *c = fresh.name; *c; c++)
        if (*c == '_')
            *c = ' ';
    table[place] = fresh;
}

/* The GPU's line, with the keys of the load that a process works for, behind its own: the first of a key counts. */
static void with_load(int file, const char *line, char *loads[], unsigned count, char into[LINE_SIZE])
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = FIELDS};
    char minor[16] = "";

    snprintf(into, LINE_SIZE, "%s", line);
    if (!find(line, "minor", minor, sizeof minor))
        return;
    lock.l_start = (off_t)atoi(minor) * FIELDS;
    if (fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
        return;
    for (unsigned i = 0; i < count; i++) {
        char *keys;

        if (strtol(loads[i], &keys, 10) == lock.l_start % FIELDS)
            snprintf(into, LINE_SIZE, "%s%s", line, keys);
    }
}

int state_load(void)
{
    static char text[MOST_TEXT];
    int file = open(state_path(), O_RDONLY | O_CLOEXEC);
    char *rest = text, *line, *loads[MOST_LOADS], whole[LINE_SIZE];
    ssize_t length;
    unsigned count = 0, loaded = 0;

    if (file < 0)
        return -1;
    pthread_mutex_lock(&lock);
    length = read(file, text, sizeof text - 1); /* in one piece: it may be written meanwhile */
    text[length < 0 ? 0 : length] = '\0';
    while (count < MOST_GPUS && (line = strtok_r(rest, "\n", &rest)) != NULL) {
        if (strncmp(line, "cuda ", 5) == 0)
            cuda = atoi(line + 5);
        else if (strncmp(line, "load ", 5) == 0 && loaded < MOST_LOADS)
            loads[loaded++] = line + 5;
        else if (strncmp(line, "gpu ", 4) == 0 && strlen(line) < LINE_SIZE) {
            with_load(file, line, loads, loaded, whole);
            read_gpu(whole, count);
            count++;
        }
    }
    known = count;
    pthread_mutex_unlock(&lock);
    close(file);
    return 0;
}

static int has_node(unsigned minor)
{
    char path[32];

    snprintf(path, sizeof path, "/dev/nvidia%u", minor);
    return access(path, F_OK) == 0;
}

/* Tells of each GPU whether it is visible. Where no device node is there at all, as on a machine that builds, all are. */
static unsigned visible(unsigned char sees[MOST_GPUS])
{
    unsigned found = 0;

    for (unsigned i = 0; i < known; i++)
        found += sees[i] = (unsigned char)has_node(table[i].minor);
    if (found == 0 && getenv("SIMULATED_GPU_STATE") != NULL) {
        memset(sees, 1, known);
        found = known;
    }
    return found;
}

unsigned state_visible(void)
{
    unsigned char sees[MOST_GPUS];

    return visible(sees);
}

struct gpu *state_visible_at(unsigned index)
{
    unsigned char sees[MOST_GPUS];

    visible(sees);
    for (unsigned i = 0; i < known; i++)
        if (sees[i] && index-- == 0)
            return &table[i];
    return NULL;
}

int state_index(const struct gpu *gpu)
{
    unsigned char sees[MOST_GPUS];
    int index = 0;

    visible(sees);
    for (unsigned i = 0; i < known; i++) {
        if (&table[i] == gpu)
            return sees[i] ? index : -1;
        index += sees[i];
    }
    return -1;
}

unsigned state_count(void)
{
    return known;
}

struct gpu *state_at(unsigned place)
{
    return place < known ? &table[place] : NULL;
}

int state_known(const struct gpu *gpu)
{
    return gpu >= table && gpu < table + known;
}

int state_cuda(void)
{
    return cuda;
}

int gpu_word(const struct gpu *gpu, const char *key, char *into, size_t size)
{
    int found;

    pthread_mutex_lock(&lock);
    found = find(gpu->line, key, into, size);
    pthread_mutex_unlock(&lock);
    return found;
}

int gpu_has(const struct gpu *gpu, const char *key)
{
    char value[64];

    return gpu_word(gpu, key, value, sizeof value);
}

double gpu_number(const struct gpu *gpu, const char *key, double otherwise)
{
    char value[64];

    return gpu_word(gpu, key, value, sizeof value) ? strtod(value, NULL) : otherwise;
}

int module_version(char *into, size_t size)
{
    FILE *file;
    char line[256] = "", *at;

    if (access("/dev/nvidiactl", F_OK) != 0)
        return -1;
    file = fopen("/proc/driver/nvidia/version", "r");
    if (file == NULL)
        return 0;
    if (fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    fclose(file);
    /* NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.91.07  Release Build … */
    for (at = strstr(line, "  "); at != NULL; at = strstr(at + 2, "  ")) {
        size_t length = strspn(at + 2, "0123456789.");

        if (length > 2 && length < size) {
            memcpy(into, at + 2, length);
            into[length] = '\0';
            return 1;
        }
    }
    return 0;
}
