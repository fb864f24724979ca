/* What simulated GPUs do not have: MIG, NVLink, confidential computing, fans. Each is answered, so that a caller that
 * binds the name finds it, with the answer of a GPU without it. */
#define _POSIX_C_SOURCE 200809L
#include "nvml.h"

API nvml_return nvmlDeviceGetMigMode(nvml_device device, unsigned *current, unsigned *pending)
{
    LIVE(device);
    if (!gpu_has(device, "mig"))
        return NOT_SUPPORTED;
    *current = *pending = 0;
    return SUCCESS;
}

API nvml_return nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned *count)
{
    LIVE(device);
    *count = 0;
    return SUCCESS;
}

API nvml_return nvmlDeviceIsMigDeviceHandle(nvml_device device, unsigned *answer)
{
    LIVE(device);
    *answer = 0;
    return SUCCESS;
}

API nvml_return nvmlDeviceGetTopologyCommonAncestor(nvml_device one, nvml_device other, unsigned *level)
{
    LIVE(one);
    LIVE(other);
    *level = 40; /* the same NUMA node */
    return SUCCESS;
}

/* The arguments after the GPU are never written. */
#define ABSENT(function, answer)                                                                                       \
    API nvml_return function(nvml_device device, ...)                                                                  \
    {                                                                                                                  \
        LIVE(device);                                                                                                  \
        return answer;                                                                                                 \
    }

ABSENT(nvmlDeviceSetMigMode, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetMigDeviceHandleByIndex, NOT_FOUND)
ABSENT(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetGpuInstanceId, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetComputeInstanceId, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetGpuInstanceProfileInfo, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetGpuInstances, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetAttributes_v2, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetAddressingMode, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetGpuFabricInfo, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetGpuFabricInfoV, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetNvLinkState, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetNvLinkRemotePciInfo_v2, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetNvLinkRemoteDeviceType, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetP2PStatus, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetFanSpeed, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetEncoderUtilization, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetDecoderUtilization, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetRetiredPages, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetFieldValues, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetMemoryErrorCounter, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetVirtualizationMode, NOT_SUPPORTED)
ABSENT(nvmlDeviceGetBoardPartNumber, NOT_SUPPORTED)
