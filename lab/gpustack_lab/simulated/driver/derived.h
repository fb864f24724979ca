/* What follows from the load of a GPU and from its kind where the state does not say it. The simulated exporter follows
 * the same rules, so that both tell the same. */
#ifndef SIMULATED_DERIVED_H
#define SIMULATED_DERIVED_H

#include "state.h"

double gpu_power(const struct gpu *gpu);       /* W */
double gpu_limit(const struct gpu *gpu);       /* W */
double gpu_temperature(const struct gpu *gpu); /* °C */
double gpu_sm_clock(const struct gpu *gpu);    /* MHz */
double gpu_pstate(const struct gpu *gpu);
unsigned long long gpu_throttle(const struct gpu *gpu); /* bits of NVML's reasons */

#endif
