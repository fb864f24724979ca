/* The table of `nvidia-smi` without arguments. */
#define _POSIX_C_SOURCE 200809L
#include "smi.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define EDGE "+-----------------------------------------------------------------------------------------+\n"
#define COLUMNS "+-----------------------------------------+------------------------+----------------------+\n"

static void now(void)
{
    char text[64];
    time_t seconds = time(NULL);
    struct tm local;

    strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", localtime_r(&seconds, &local));
    printf("%s       \n", text);
}

static void row(unsigned index)
{
    nvml_device device = handle(index);
    char name[96] = "", ecc[24] = "N/A", mig[16] = "N/A", cap[16] = "N/A", used[24], total[24];
    static const char *const MODES[] = {"Default", "E. Thread", "Prohibited", "E. Process"};
    unsigned compute_mode = 0;
    unsigned persistence = 0, temperature = 0, power = 0, limit = 0, state = 0, mode = 0, pending = 0;
    u64 errors = 0;
    struct nvml_pci pci = {0};
    struct nvml_memory memory = {0};
    struct nvml_utilization rates = {0};

    nvml.DeviceGetName(device, name, sizeof name);
    nvml.DeviceGetPersistenceMode(device, &persistence);
    nvml.DeviceGetComputeMode(device, &compute_mode);
    nvml.DeviceGetPciInfo_v3(device, &pci);
    nvml.DeviceGetTemperature(device, 0, &temperature);
    nvml.DeviceGetPowerUsage(device, &power);
    nvml.DeviceGetPerformanceState(device, &state);
    nvml.DeviceGetMemoryInfo(device, &memory);
    nvml.DeviceGetUtilizationRates(device, &rates);
    if (nvml.DeviceGetEnforcedPowerLimit(device, &limit) == SUCCESS)
        snprintf(cap, sizeof cap, "%uW", limit / 1000);
    if (nvml.DeviceGetTotalEccErrors(device, 1, 0, &errors) == SUCCESS)
        snprintf(ecc, sizeof ecc, "%llu", errors);
    if (nvml.DeviceGetMigMode(device, &mode, &pending) == SUCCESS)
        snprintf(mig, sizeof mig, "%s", mode ? "Enabled" : "Disabled");
    snprintf(used, sizeof used, "%lluMiB", memory.used >> 20);
    snprintf(total, sizeof total, "%lluMiB", memory.total >> 20);
    printf("| %3u  %-29.29s %3s  | %18s %3s | %20s |\n", index, name, persistence ? "On" : "Off", pci.bus_id, "Off", ecc);
    printf("| N/A %4uC    P%u%15uW / %5s |%11s / %9s |%7u%%%13s |\n", temperature, state, power / 1000, cap, used, total,
           rates.gpu, compute_mode < 4 ? MODES[compute_mode] : "N/A");
    printf("| %39s | %22s | %20s |\n", "", "", mig);
    printf(COLUMNS);
}

void show_table(void)
{
    char driver[80] = "";
    int cuda = 0;
    char version[24];

    /* All handles first: one that is lost ends the program before anything is printed. */
    for (unsigned i = 0; i < count(); i++)
        handle(i);
    nvml.SystemGetDriverVersion(driver, sizeof driver);
    nvml.SystemGetCudaDriverVersion_v2(&cuda);
    snprintf(version, sizeof version, "%d.%d", cuda / 1000, cuda % 1000 / 10);
    now();
    printf(EDGE "| NVIDIA-SMI %-22s Driver Version: %-14s CUDA Version: %-8s |\n", DRIVER_VERSION, driver, version);
    printf(COLUMNS
           "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
           "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
           "|                                         |                        |               MIG M. |\n"
           "|=========================================+========================+======================|\n");
    for (unsigned i = 0; i < count(); i++)
        row(i);
    printf("%89s\n" EDGE
           "| Processes:                                                                              |\n"
           "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n"
           "|        ID   ID                                                               Usage      |\n"
           "|=========================================================================================|\n"
           "|  No running processes found                                                             |\n" EDGE, "");
}
