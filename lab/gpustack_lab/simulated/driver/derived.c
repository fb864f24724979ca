#define _POSIX_C_SOURCE 200809L
#include "derived.h"

#define QUIET_CLOCK 345

enum { IDLE = 0x1, POWER_CAP = 0x4, HW_SLOWDOWN = 0x8, SW_THERMAL = 0x20, HW_THERMAL = 0x40, POWER_BRAKE = 0x80 };

/* How busy it is, 0 to 1. */
static double load(const struct gpu *gpu)
{
    double share = gpu_has(gpu, "util") ? gpu_number(gpu, "util", 0) / 100 : gpu_number(gpu, "gr", 0);

    return share < 0 ? 0 : share > 1 ? 1 : share;
}

double gpu_limit(const struct gpu *gpu)
{
    return gpu_number(gpu, "limit", gpu_number(gpu, "maxlimit", 700));
}

double gpu_power(const struct gpu *gpu)
{
    double idle = gpu_number(gpu, "idle", 70);

    return gpu_number(gpu, "power", idle + (0.9 * gpu_limit(gpu) - idle) * load(gpu));
}

double gpu_temperature(const struct gpu *gpu)
{
    return gpu_number(gpu, "temp", (double)(int)(34.5 + 30 * load(gpu)));
}

static unsigned long long reasons(const struct gpu *gpu)
{
    double temperature = gpu_temperature(gpu);
    unsigned long long found = 0;

    found |= gpu_number(gpu, "viol_power", 0) > 0 ? POWER_CAP : 0;
    found |= gpu_number(gpu, "viol_sw_thermal", 0) > 0 ? SW_THERMAL : 0;
    found |= gpu_number(gpu, "viol_thermal", 0) > 0 ? HW_THERMAL : 0;
    found |= gpu_number(gpu, "viol_brake", 0) > 0 ? POWER_BRAKE : 0;
    if (temperature >= gpu_number(gpu, "slowdown", 91))
        found |= HW_THERMAL;
    else if (temperature >= gpu_number(gpu, "maxop", 87))
        found |= SW_THERMAL;
    return found & (HW_THERMAL | POWER_BRAKE) ? found | HW_SLOWDOWN : found;
}

unsigned long long gpu_throttle(const struct gpu *gpu)
{
    if (gpu_has(gpu, "throttle"))
        return (unsigned long long)gpu_number(gpu, "throttle", 0);
    return reasons(gpu) | (load(gpu) > 0 ? 0 : IDLE);
}

double gpu_sm_clock(const struct gpu *gpu)
{
    double most = gpu_number(gpu, "smmax", 1980);

    if (load(gpu) <= 0)
        return gpu_number(gpu, "sm", QUIET_CLOCK);
    return gpu_number(gpu, "sm", gpu_throttle(gpu) & HW_SLOWDOWN ? (double)(int)(most / 3 + 0.5) : most);
}

double gpu_pstate(const struct gpu *gpu)
{
    return gpu_number(gpu, "pstate", load(gpu) > 0 ? 0 : 8);
}
