/* Stands for <cuda_runtime_api.h> where CUDA text runs on a CPU. */
#include "dcc_emu.h"
