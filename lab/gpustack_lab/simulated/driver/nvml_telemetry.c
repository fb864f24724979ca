/* What changes while a GPU works: memory, temperature, power, clocks, errors. Every number stands in the state. */
#define _POSIX_C_SOURCE 200809L
#include "derived.h"
#include "nvml.h"

#include <string.h>

#define MIB 20
#define RESERVED 535 /* MiB that the driver keeps */

/* A function that gives one number about a GPU. */
#define VALUE(function, type, expression)                                                                              \
    API nvml_return function(nvml_device device, type *value)                                                          \
    {                                                                                                                  \
        LIVE(device);                                                                                                  \
        *value = (type)(expression);                                                                                   \
        return SUCCESS;                                                                                                \
    }
/* The same, of one key of the state: what it is where the line lacks it, and the unit's factor. */
#define NUMBER(function, type, key, otherwise, factor)                                                                 \
    VALUE(function, type, gpu_number(device, key, otherwise) * (factor))

VALUE(nvmlDeviceGetPowerUsage, unsigned, gpu_power(device) * 1000) /* mW */
VALUE(nvmlDeviceGetEnforcedPowerLimit, unsigned, gpu_limit(device) * 1000)
VALUE(nvmlDeviceGetPowerManagementLimit, unsigned, gpu_limit(device) * 1000)
VALUE(nvmlDeviceGetCurrentClocksThrottleReasons, u64, gpu_throttle(device))
VALUE(nvmlDeviceGetCurrentClocksEventReasons, u64, gpu_throttle(device))
VALUE(nvmlDeviceGetPerformanceState, unsigned, gpu_pstate(device))
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, "maxlimit", 700, 1000)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, u64, "energy", 0, 1) /* mJ */
NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned, "replay", 0, 1)
NUMBER(nvmlDeviceGetNumaNodeId, unsigned, "numa", 0, 1)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pcie_gen", 5, 1)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pcie_width", 16, 1)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, "pcie_gen", 5, 1)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, "pcie_width", 16, 1)
NUMBER(nvmlDeviceGetPersistenceMode, unsigned, "persistence", 1, 1)
NUMBER(nvmlDeviceGetComputeMode, unsigned, "compute_mode", 0, 1)
NUMBER(nvmlDeviceGetDisplayActive, unsigned, "display", 0, 1)
NUMBER(nvmlDeviceGetDisplayMode, unsigned, "display", 0, 1)

API nvml_return nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory)
{
    LIVE(device);
    memory->total = (u64)gpu_number(device, "mem", 0) << MIB;
    memory->used = (u64)gpu_number(device, "used", 0) << MIB;
    memory->free = memory->total - memory->used;
    return SUCCESS;
}

API nvml_return nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *memory)
{
    LIVE(device);
    memory->total = (u64)gpu_number(device, "mem", 0) << MIB;
    memory->reserved = (u64)gpu_number(device, "reserved", RESERVED) << MIB;
    memory->used = (u64)gpu_number(device, "used", 0) << MIB;
    memory->free = memory->total - memory->reserved - memory->used;
    return SUCCESS;
}

API nvml_return nvmlDeviceGetBAR1MemoryInfo(nvml_device device, u64 bar[3])
{
    LIVE(device);
    bar[0] = bar[1] = (u64)gpu_number(device, "mem", 0) << MIB;
    bar[2] = 0;
    return SUCCESS;
}

API nvml_return nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *rates)
{
    LIVE(device);
    rates->gpu = (unsigned)gpu_number(device, "util", 0);
    rates->memory = (unsigned)gpu_number(device, "memutil", 0);
    return SUCCESS;
}

API nvml_return nvmlDeviceGetTemperature(nvml_device device, unsigned sensor, unsigned *degrees)
{
    LIVE(device);
    if (sensor != 0)
        return INVALID_ARGUMENT;
    *degrees = (unsigned)gpu_temperature(device);
    return SUCCESS;
}

/* Thresholds: 0 shutdown, 1 slowdown. */
API nvml_return nvmlDeviceGetTemperatureThreshold(nvml_device device, unsigned which, unsigned *degrees)
{
    LIVE(device);
    if (which > 1)
        return NOT_SUPPORTED;
    *degrees = (unsigned)gpu_number(device, "slowdown", 91) + (which == 0 ? 3 : 0);
    return SUCCESS;
}

/* Clocks: 0 graphics, 1 SM, 2 memory, 3 video. MHz. */
API nvml_return nvmlDeviceGetClockInfo(nvml_device device, unsigned clock, unsigned *mhz)
{
    LIVE(device);
    *mhz = (unsigned)(clock == 2 ? gpu_number(device, "memclk", gpu_number(device, "memmax", 0)) : gpu_sm_clock(device));
    return SUCCESS;
}

API nvml_return nvmlDeviceGetMaxClockInfo(nvml_device device, unsigned clock, unsigned *mhz)
{
    LIVE(device);
    *mhz = (unsigned)gpu_number(device, clock == 2 ? "memmax" : "smmax", 0);
    return SUCCESS;
}

API nvml_return nvmlDeviceGetPcieThroughput(nvml_device device, unsigned counter, unsigned *kilobytes)
{
    LIVE(device);
    *kilobytes = (unsigned)(gpu_number(device, counter == 0 ? "pcie_tx" : "pcie_rx", 0) / 1000);
    return SUCCESS;
}

/* Policies: 0 power, 1 thermal. Nanoseconds. */
API nvml_return nvmlDeviceGetViolationStatus(nvml_device device, unsigned policy, struct nvml_violation *status)
{
    LIVE(device);
    if (policy > 1)
        return NOT_SUPPORTED;
    status->reference = status->violation = 0; /* the exporter counts such time, the driver here does not */
    return SUCCESS;
}

API nvml_return nvmlDeviceGetEccMode(nvml_device device, unsigned *current, unsigned *pending)
{
    LIVE(device);
    *current = *pending = (unsigned)gpu_number(device, "ecc", 1);
    return SUCCESS;
}

/* Types: 0 corrected, 1 uncorrected. What is volatile and what is kept is one number here. */
API nvml_return nvmlDeviceGetTotalEccErrors(nvml_device device, unsigned type, unsigned counter, u64 *errors)
{
    (void)counter;
    LIVE(device);
    if (gpu_number(device, "ecc", 1) == 0)
        return NOT_SUPPORTED;
    *errors = (u64)gpu_number(device, type == 0 ? "ecc_sbe" : "ecc_dbe", 0);
    return SUCCESS;
}

API nvml_return nvmlDeviceGetRemappedRows(nvml_device device, unsigned *corrected, unsigned *uncorrected,
                                          unsigned *pending, unsigned *failed)
{
    LIVE(device);
    if (gpu_number(device, "arch", 0) < 7) /* rows are remapped since Ampere */
        return NOT_SUPPORTED;
    *corrected = (unsigned)gpu_number(device, "remap_c", 0);
    *uncorrected = (unsigned)gpu_number(device, "remap_u", 0);
    *pending = gpu_number(device, "remap_pending", 0) != 0;
    *failed = gpu_number(device, "remap_fail", 0) != 0;
    return SUCCESS;
}

static nvml_return no_processes(nvml_device device, unsigned *count)
{
    LIVE(device);
    *count = 0;
    return SUCCESS;
}

/* Nothing runs on silicon that is not there; the versions differ only in the structures that are not filled. */
#define PROCESSES(function)                                                                                            \
    API nvml_return function(nvml_device device, unsigned *count, void *processes)                                     \
    {                                                                                                                  \
        (void)processes;                                                                                               \
        return no_processes(device, count);                                                                            \
    }

PROCESSES(nvmlDeviceGetComputeRunningProcesses)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)
