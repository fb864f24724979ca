/* The simulated nvidia-smi: what it asks NVML for, through the library that is installed. */
#ifndef SIMULATED_SMI_H
#define SIMULATED_SMI_H

#include "nvml.h"

/* Functions of libnvidia-ml.so.1, by their names without `nvml`. */
struct library {
    nvml_return (*Init_v2)(void);
    nvml_return (*Shutdown)(void);
    const char *(*ErrorString)(nvml_return);
    nvml_return (*SystemGetDriverVersion)(char *, unsigned);
    nvml_return (*SystemGetCudaDriverVersion_v2)(int *);
    nvml_return (*DeviceGetCount_v2)(unsigned *);
    nvml_return (*DeviceGetHandleByIndex_v2)(unsigned, nvml_device *);
    nvml_return (*DeviceGetHandleByUUID)(const char *, nvml_device *);
    nvml_return (*DeviceGetName)(nvml_device, char *, unsigned);
    nvml_return (*DeviceGetUUID)(nvml_device, char *, unsigned);
    nvml_return (*DeviceGetSerial)(nvml_device, char *, unsigned);
    nvml_return (*DeviceGetPciInfo_v3)(nvml_device, struct nvml_pci *);
    nvml_return (*DeviceGetMemoryInfo)(nvml_device, struct nvml_memory *);
    nvml_return (*DeviceGetUtilizationRates)(nvml_device, struct nvml_utilization *);
    nvml_return (*DeviceGetTemperature)(nvml_device, unsigned, unsigned *);
    nvml_return (*DeviceGetPowerUsage)(nvml_device, unsigned *);
    nvml_return (*DeviceGetEnforcedPowerLimit)(nvml_device, unsigned *);
    nvml_return (*DeviceGetClockInfo)(nvml_device, unsigned, unsigned *);
    nvml_return (*DeviceGetPerformanceState)(nvml_device, unsigned *);
    nvml_return (*DeviceGetEccMode)(nvml_device, unsigned *, unsigned *);
    nvml_return (*DeviceGetTotalEccErrors)(nvml_device, unsigned, unsigned, u64 *);
    nvml_return (*DeviceGetMigMode)(nvml_device, unsigned *, unsigned *);
    nvml_return (*DeviceGetPersistenceMode)(nvml_device, unsigned *);
    nvml_return (*DeviceGetComputeMode)(nvml_device, unsigned *);
    nvml_return (*DeviceGetCudaComputeCapability)(nvml_device, int *, int *);
    nvml_return (*DeviceGetRemappedRows)(nvml_device, unsigned *, unsigned *, unsigned *, unsigned *);
};

extern struct library nvml;

/* The handle of a GPU. Where it has none, says so and ends the program with NVML's code. */
nvml_device handle(unsigned index);
unsigned count(void);

void show_table(void);
void show_list(void);
/* `fields` as after --query-gpu=, `format` as after --format=. Gives the exit status. */
int show_query(const char *fields, const char *format);
/* `selection` as after -i, empty for all GPUs. Gives the exit status. */
int reset_gpus(const char *selection);

#endif
