/* Stands for <cuda.h> where CUDA text runs on a CPU. */
#include "dcc_emu.h"
