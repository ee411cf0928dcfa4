/* Stands for <cuda_fp16.h> where CUDA text runs on a CPU. */
#include "dcc_emu.h"
