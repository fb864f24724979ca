/* nvidia-smi of the simulated driver: the table, -L, queries and resets, with the failures and exit codes of the real one. */
#define _POSIX_C_SOURCE 200809L
#include "smi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_LIBRARY 12
#define NO_DEVICES 6
#define BAD_USE 2

struct library nvml;

static const char *const NAMES[] = {
    "Init_v2", "Shutdown", "ErrorString", "SystemGetDriverVersion", "SystemGetCudaDriverVersion_v2",
    "DeviceGetCount_v2", "DeviceGetHandleByIndex_v2", "DeviceGetHandleByUUID", "DeviceGetName", "DeviceGetUUID",
    "DeviceGetSerial", "DeviceGetPciInfo_v3", "DeviceGetMemoryInfo", "DeviceGetUtilizationRates",
    "DeviceGetTemperature", "DeviceGetPowerUsage", "DeviceGetEnforcedPowerLimit", "DeviceGetClockInfo",
    "DeviceGetPerformanceState", "DeviceGetEccMode", "DeviceGetTotalEccErrors", "DeviceGetMigMode",
    "DeviceGetPersistenceMode", "DeviceGetComputeMode", "DeviceGetCudaComputeCapability", "DeviceGetRemappedRows",
};

_Static_assert(sizeof NAMES / sizeof *NAMES == sizeof nvml / sizeof(void *), "one name for each function");

static void load(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);

    for (size_t i = 0; library != NULL && i < sizeof NAMES / sizeof *NAMES; i++) {
        char name[64];
        void *function;

        snprintf(name, sizeof name, "nvml%s", NAMES[i]);
        function = dlsym(library, name);
        memcpy((char *)&nvml + i * sizeof function, &function, sizeof function);
        if (function == NULL)
            library = NULL;
    }
    if (library == NULL) {
        puts("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display "
             "Driver is properly installed and present in your system.\n"
             "Please also try adding directory that contains libnvidia-ml.so to your system PATH.");
        exit(NO_LIBRARY);
    }
}

static void begin(void)
{
    nvml_return refused;

    load();
    refused = nvml.Init_v2();
    if (refused == DRIVER_NOT_LOADED) {
        puts("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
             "NVIDIA driver is installed and running.\n");
        exit(refused);
    }
    if (refused != SUCCESS) {
        printf("Failed to initialize NVML: %s\n", nvml.ErrorString(refused));
        if (refused == VERSION_MISMATCH)
            printf("NVML library version: %.*s\n", (int)strcspn(strchr(DRIVER_VERSION, '.') + 1, ".") + 4, DRIVER_VERSION);
        exit(refused);
    }
    if (count() == 0) {
        puts("No devices were found");
        exit(NO_DEVICES);
    }
}

unsigned count(void)
{
    unsigned found = 0;

    nvml.DeviceGetCount_v2(&found);
    return found;
}

nvml_device handle(unsigned index)
{
    nvml_device device = NULL;
    nvml_return refused = nvml.DeviceGetHandleByIndex_v2(index, &device);
    struct nvml_pci pci;

    if (refused == SUCCESS)
        return device;
    memset(&pci, 0, sizeof pci);
    if (device != NULL)
        nvml.DeviceGetPciInfo_v3(device, &pci);
    printf("Unable to determine the device handle for GPU%u: %s: %s%s\n", index, pci.bus_id, nvml.ErrorString(refused),
           refused == GPU_IS_LOST ? ".  Reboot the system to recover this GPU" : "");
    exit(refused);
}

void show_list(void)
{
    char name[96], uuid[96];

    for (unsigned i = 0; i < count(); i++) {
        nvml_device device = handle(i);

        nvml.DeviceGetName(device, name, sizeof name);
        nvml.DeviceGetUUID(device, uuid, sizeof uuid);
        printf("GPU %u: %s (UUID: %s)\n", i, name, uuid);
    }
}

static void help(void)
{
    puts("NVIDIA System Management Interface -- v" DRIVER_VERSION " (SIMULATED by gpustack: no silicon behind it)\n\n"
         "nvidia-smi [OPTION1 [ARG1]] [OPTION2 [ARG2]] ...\n\n"
         "    -h,   --help                Print usage information and exit.\n"
         "          --version             Print version information and exit.\n"
         "    -L,   --list-gpus           Display a list of GPUs connected to the system.\n"
         "          --query-gpu=          Information about GPU.\n"
         "          --query-remapped-rows= Information about remapped rows.\n"
         "          --format=             csv, with noheader and nounits.\n"
         "    -r,   --gpu-reset           Reset all GPUs, or those of -i.\n"
         "    -pm,  --persistence-mode=   Accepted and on already.");
}

static void version(void)
{
    printf("NVIDIA-SMI version  : %s\nNVML version        : %.*s\nDRIVER version      : %s\n"
           "SIMULATED           : by gpustack, no silicon behind it\n",
           DRIVER_VERSION, (int)strcspn(DRIVER_VERSION, ".") + 3, DRIVER_VERSION, DRIVER_VERSION);
}

static const char *value(const char *argument, const char *option)
{
    size_t length = strlen(option);

    return strncmp(argument, option, length) == 0 ? argument + length : NULL;
}

int main(int argc, char **argv)
{
    const char *query = NULL, *format = "", *selection = "";
    int resets = 0;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
            return help(), 0;
        if (!strcmp(argv[i], "--version")) {
            load();
            return version(), 0;
        }
        if (!strcmp(argv[i], "-L") || !strcmp(argv[i], "--list-gpus")) {
            begin();
            return show_list(), 0;
        }
        if (!strcmp(argv[i], "-pm") && i + 1 < argc) {
            begin();
            return puts("Persistence mode is already Enabled.\nAll done."), 0;
        }
        if (!strcmp(argv[i], "-r") || !strcmp(argv[i], "--gpu-reset"))
            resets = 1;
        else if (!strcmp(argv[i], "-i") && i + 1 < argc)
            selection = argv[++i];
        else if (value(argv[i], "--query-gpu="))
            query = value(argv[i], "--query-gpu=");
        else if (value(argv[i], "--query-remapped-rows="))
            query = value(argv[i], "--query-remapped-rows=");
        else if (value(argv[i], "--format="))
            format = value(argv[i], "--format=");
        else {
            printf("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n");
            return BAD_USE;
        }
    }
    if (*selection != '\0' && !resets) { /* of queries it is not simulated */
        printf("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n");
        return BAD_USE;
    }
    begin();
    if (resets)
        return reset_gpus(selection);
    if (query != NULL)
        return show_query(query, format);
    return show_table(), 0;
}
