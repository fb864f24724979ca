/* `nvidia-smi --query-gpu=… --format=csv`, and --query-remapped-rows=, which has fields of its own beside. */
#define _POSIX_C_SOURCE 200809L
#include "smi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAD_USE 2
#define MOST_FIELDS 64

/* By NVML's numbers (nvmlComputeMode_t), of which 1 is of the past. */
static const char *const COMPUTE_MODES[] = {"Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"};

typedef nvml_return reading(nvml_device device, unsigned index, char *into, size_t size);

#define READING(name) static nvml_return name(nvml_device device, unsigned index, char *into, size_t size)
#define IGNORE(argument) ((void)(argument))

READING(number_of) { IGNORE(device); snprintf(into, size, "%u", index); return SUCCESS; }
READING(uuid) { IGNORE(index); return nvml.DeviceGetUUID(device, into, (unsigned)size); }
READING(name) { IGNORE(index); return nvml.DeviceGetName(device, into, (unsigned)size); }
READING(serial) { IGNORE(index); return nvml.DeviceGetSerial(device, into, (unsigned)size); }
READING(driver) { IGNORE(index), IGNORE(device); return nvml.SystemGetDriverVersion(into, (unsigned)size); }
READING(gpus) { IGNORE(index), IGNORE(device); snprintf(into, size, "%u", count()); return SUCCESS; }

READING(bus)
{
    struct nvml_pci pci = {0};
    nvml_return refused = nvml.DeviceGetPciInfo_v3(device, &pci);

    IGNORE(index);
    snprintf(into, size, "%s", pci.bus_id);
    return refused;
}

READING(capability)
{
    int major = 0, minor = 0;
    nvml_return refused = nvml.DeviceGetCudaComputeCapability(device, &major, &minor);

    IGNORE(index);
    snprintf(into, size, "%d.%d", major, minor);
    return refused;
}

READING(persistence)
{
    unsigned on = 0;
    nvml_return refused = nvml.DeviceGetPersistenceMode(device, &on);

    IGNORE(index);
    snprintf(into, size, "%s", on ? "Enabled" : "Disabled");
    return refused;
}

READING(compute_mode)
{
    unsigned number = 0;
    nvml_return refused = nvml.DeviceGetComputeMode(device, &number);

    IGNORE(index);
    snprintf(into, size, "%s", number < 4 ? COMPUTE_MODES[number] : "[Unknown Error]");
    return refused;
}

static nvml_return mebibytes(nvml_device device, int which, char *into, size_t size)
{
    struct nvml_memory memory = {0};
    nvml_return refused = nvml.DeviceGetMemoryInfo(device, &memory);
    u64 bytes = which == 0 ? memory.total : which == 1 ? memory.used : memory.free;

    snprintf(into, size, "%llu", bytes >> 20);
    return refused;
}

READING(memory_total) { IGNORE(index); return mebibytes(device, 0, into, size); }
READING(memory_used) { IGNORE(index); return mebibytes(device, 1, into, size); }
READING(memory_free) { IGNORE(index); return mebibytes(device, 2, into, size); }

READING(temperature)
{
    unsigned degrees = 0;
    nvml_return refused = nvml.DeviceGetTemperature(device, 0, &degrees);

    IGNORE(index);
    snprintf(into, size, "%u", degrees);
    return refused;
}

READING(power)
{
    unsigned milliwatts = 0;
    nvml_return refused = nvml.DeviceGetPowerUsage(device, &milliwatts);

    IGNORE(index);
    snprintf(into, size, "%u.%02u", milliwatts / 1000, milliwatts % 1000 / 10);
    return refused;
}

READING(power_limit)
{
    unsigned milliwatts = 0;
    nvml_return refused = nvml.DeviceGetEnforcedPowerLimit(device, &milliwatts);

    IGNORE(index);
    snprintf(into, size, "%u.%02u", milliwatts / 1000, milliwatts % 1000 / 10);
    return refused;
}

static nvml_return rate(nvml_device device, int memory, char *into, size_t size)
{
    struct nvml_utilization rates = {0};
    nvml_return refused = nvml.DeviceGetUtilizationRates(device, &rates);

    snprintf(into, size, "%u", memory ? rates.memory : rates.gpu);
    return refused;
}

READING(utilization) { IGNORE(index); return rate(device, 0, into, size); }
READING(memory_utilization) { IGNORE(index); return rate(device, 1, into, size); }

static nvml_return clock_of(nvml_device device, unsigned which, char *into, size_t size)
{
    unsigned mhz = 0;
    nvml_return refused = nvml.DeviceGetClockInfo(device, which, &mhz);

    snprintf(into, size, "%u", mhz);
    return refused;
}

READING(sm_clock) { IGNORE(index); return clock_of(device, 1, into, size); }
READING(memory_clock) { IGNORE(index); return clock_of(device, 2, into, size); }

static nvml_return errors(nvml_device device, unsigned type, char *into, size_t size)
{
    u64 found = 0;
    nvml_return refused = nvml.DeviceGetTotalEccErrors(device, type, 0, &found);

    snprintf(into, size, "%llu", found);
    return refused;
}

READING(corrected) { IGNORE(index); return errors(device, 0, into, size); }
READING(uncorrected) { IGNORE(index); return errors(device, 1, into, size); }

static nvml_return mode(nvml_return refused, unsigned on, char *into, size_t size)
{
    snprintf(into, size, "%s", on ? "Enabled" : "Disabled");
    return refused;
}

READING(ecc)
{
    unsigned on = 0, later = 0;
    nvml_return refused = nvml.DeviceGetEccMode(device, &on, &later);

    IGNORE(index);
    return mode(refused, on, into, size);
}

READING(mig)
{
    unsigned on = 0, later = 0;
    nvml_return refused = nvml.DeviceGetMigMode(device, &on, &later);

    IGNORE(index);
    return mode(refused, on, into, size);
}

static nvml_return remapped(nvml_device device, unsigned which, char *into, size_t size)
{
    unsigned rows[4] = {0};
    nvml_return refused = nvml.DeviceGetRemappedRows(device, &rows[0], &rows[1], &rows[2], &rows[3]);

    snprintf(into, size, "%u", rows[which]);
    return refused;
}

READING(rows_corrected) { IGNORE(index); return remapped(device, 0, into, size); }
READING(rows_uncorrected) { IGNORE(index); return remapped(device, 1, into, size); }
static nvml_return yes_or_no(nvml_device device, unsigned which, char *into, size_t size)
{
    nvml_return refused = remapped(device, which, into, size);

    snprintf(into, size, "%s", into[0] == '0' ? "No" : "Yes");
    return refused;
}

READING(rows_pending) { IGNORE(index); return yes_or_no(device, 2, into, size); }
READING(rows_failure) { IGNORE(index); return yes_or_no(device, 3, into, size); }

static const struct field {
    const char *name, *unit;
    reading *read;
} FIELDS[] = {
    {"index", "", number_of}, {"uuid", "", uuid}, {"gpu_uuid", "", uuid}, {"name", "", name}, {"gpu_name", "", name},
    {"serial", "", serial}, {"count", "", gpus}, {"driver_version", "", driver}, {"pci.bus_id", "", bus},
    {"gpu_bus_id", "", bus}, {"compute_cap", "", capability}, {"persistence_mode", "", persistence},
    {"compute_mode", "", compute_mode},
    {"memory.total", "MiB", memory_total}, {"memory.used", "MiB", memory_used}, {"memory.free", "MiB", memory_free},
    {"temperature.gpu", "", temperature}, {"power.draw", "W", power}, {"power.limit", "W", power_limit},
    {"utilization.gpu", "%", utilization}, {"utilization.memory", "%", memory_utilization},
    {"clocks.sm", "MHz", sm_clock}, {"clocks.current.sm", "MHz", sm_clock}, {"clocks.mem", "MHz", memory_clock},
    {"ecc.mode.current", "", ecc}, {"ecc.errors.corrected.volatile.total", "", corrected},
    {"ecc.errors.uncorrected.volatile.total", "", uncorrected}, {"mig.mode.current", "", mig},
    {"remapped_rows.correctable", "", rows_corrected}, {"remapped_rows.uncorrectable", "", rows_uncorrected},
    {"remapped_rows.pending", "", rows_pending}, {"remapped_rows.failure", "", rows_failure},
};

static const struct field *field_named(const char *wanted)
{
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (strcmp(FIELDS[i].name, wanted) == 0)
            return &FIELDS[i];
    return NULL;
}

static void header(const struct field **fields, size_t many, int units)
{
    for (size_t i = 0; i < many; i++) {
        printf("%s%s", i ? ", " : "", fields[i]->name);
        if (units && fields[i]->unit[0])
            printf(" [%s]", fields[i]->unit);
    }
    puts("");
}

int show_query(const char *names, const char *format)
{
    const struct field *fields[MOST_FIELDS];
    char text[2048], *rest = text, *one, value[128];
    int heads = strstr(format, "noheader") == NULL, units = strstr(format, "nounits") == NULL;
    size_t many = 0;

    if (strncmp(format, "csv", 3) != 0) {
        puts("\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.");
        return BAD_USE;
    }
    snprintf(text, sizeof text, "%s", names);
    while (many < MOST_FIELDS && (one = strtok_r(rest, ", ", &rest)) != NULL) {
        fields[many] = field_named(one);
        if (fields[many++] == NULL) {
            printf("Field \"%s\" is not a valid field to query.\n\n", one);
            return BAD_USE;
        }
    }
    for (unsigned gpu = 0; gpu < count(); gpu++)
        handle(gpu);
    if (heads)
        header(fields, many, units);
    for (unsigned gpu = 0; gpu < count(); gpu++) {
        nvml_device device = handle(gpu);

        for (size_t i = 0; i < many; i++) {
            nvml_return refused = fields[i]->read(device, gpu, value, sizeof value);

            printf("%s%s", i ? ", " : "", refused ? "[N/A]" : value);
            if (refused == SUCCESS && units && fields[i]->unit[0])
                printf(" %s", fields[i]->unit);
        }
        puts("");
    }
    return 0;
}
