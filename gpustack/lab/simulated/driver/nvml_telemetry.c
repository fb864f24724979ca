/* What changes while a GPU works: memory, temperature, power, clocks, errors. Every number stands in the state. */
#define _POSIX_C_SOURCE 200809L
#include "nvml.h"

#include <string.h>

#define MIB 20

/* A function that gives one number: key of the state, what it is where the line lacks it, and the unit's factor. */
#define NUMBER(function, type, key, otherwise, factor)                                                                 \
    API nvml_return function(nvml_device device, type *value)                                                          \
    {                                                                                                                  \
        LIVE(device);                                                                                                  \
        *value = (type)(gpu_number(device, key, otherwise) * (factor));                                                \
        return SUCCESS;                                                                                                \
    }

NUMBER(nvmlDeviceGetPowerUsage, unsigned, "power", 0, 1000)                         /* W to mW */
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, "limit", 0, 1000)
NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned, "limit", 0, 1000)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, "limit", 0, 1000)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, u64, "energy", 0, 1)                    /* mJ */
NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned, "replay", 0, 1)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, u64, "throttle", 0, 1)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, u64, "throttle", 0, 1)
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
    memory->reserved = (u64)gpu_number(device, "reserved", 0) << MIB;
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
    *degrees = (unsigned)gpu_number(device, "temp", 0);
    return SUCCESS;
}

/* Thresholds: 0 shutdown, 1 slowdown. */
API nvml_return nvmlDeviceGetTemperatureThreshold(nvml_device device, unsigned which, unsigned *degrees)
{
    LIVE(device);
    if (which > 1)
        return NOT_SUPPORTED;
    *degrees = (unsigned)gpu_number(device, "slowdown", 90) + (which == 0 ? 5 : 0);
    return SUCCESS;
}

/* Clocks: 0 graphics, 1 SM, 2 memory, 3 video. MHz. */
API nvml_return nvmlDeviceGetClockInfo(nvml_device device, unsigned clock, unsigned *mhz)
{
    LIVE(device);
    *mhz = (unsigned)gpu_number(device, clock == 2 ? "memclk" : "sm", 0);
    return SUCCESS;
}

API nvml_return nvmlDeviceGetMaxClockInfo(nvml_device device, unsigned clock, unsigned *mhz)
{
    LIVE(device);
    *mhz = (unsigned)gpu_number(device, clock == 2 ? "memmax" : "smmax", 0);
    return SUCCESS;
}

API nvml_return nvmlDeviceGetPerformanceState(nvml_device device, unsigned *state)
{
    LIVE(device);
    *state = gpu_number(device, "util", 0) > 0 || gpu_number(device, "pstate", 0) == 0 ? 0 : 8;
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
    status->reference = 0;
    status->violation = (u64)gpu_number(device, policy == 0 ? "viol_power" : "viol_thermal", 0);
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
