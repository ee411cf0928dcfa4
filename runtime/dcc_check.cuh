// dcc_check.cuh - what the caller promised (dcc_device.cuh includes it).
#ifndef DCC_CHECK_CUH
#define DCC_CHECK_CUH

// The first of n values that is not in [lo, hi), unless this turn has one.
template <class T>
__global__ void dcc_check_promise(const T *x, long long n, long long lo,
                                  long long hi, int input,
                                  unsigned long long turn, dcc_found *found)
{
    __shared__ long long least;
    if (threadIdx.x == 0)
        least = n;
    __syncthreads();
    for (long long i = threadIdx.x; i < n; i += blockDim.x)
        if (x[i] < lo || x[i] >= hi) {
            atomicMin(&least, i);
            break;
        }
    __syncthreads();
    if (threadIdx.x == 0 && least < n && found->turn != turn) {
        found->at = least;
        found->value = (long long)x[least];
        found->input = input;
        found->turn = turn;
    }
}

#endif
