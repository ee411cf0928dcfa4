// dcc_rows.cuh - rows of a tensor as threads take them: by vectors from any
// place on, and in shared memory between passes. dcc_device.cuh includes it.
#ifndef DCC_ROWS_CUH
#define DCC_ROWS_CUH

// N elements of a row from element `at` on, by vectors of VEC, a divisor of
// `at` and of the row's `end`; `outside` for what lies before it or behind, and
// all of it where not `in`. Words are chosen, not loads jumped over: those of
// several rows are under way together.
template <int VEC, int N, class F, class T>
DCC_DEVICE void dcc_load_row(F (&to)[N], bool in, const T *row, int at,
                             int end, F outside)
{
    static_assert(N % VEC == 0, "whole vectors");
    constexpr int WORD = 4 / sizeof(T);
    using words = dcc_vector<uint32_t, VEC / WORD>;
    T none[WORD];
    uint32_t other;
#pragma unroll
    for (int j = 0; j < WORD; ++j)
        dcc_assign(none[j], outside);
    memcpy(&other, none, sizeof other);
#pragma unroll
    for (int i = 0; i < N; i += VEC) {
        words bits;
#pragma unroll
        for (int j = 0; j < VEC / WORD; ++j)
            bits.v[j] = other;
        if (in && at + i >= 0 && at + i < end)
            bits = *reinterpret_cast<const words *>(row + at + i);
#pragma unroll
        for (int j = 0; j < VEC / WORD; ++j) {
            asm volatile("" : "+r"(bits.v[j])); // a word, no halves
            dcc_spread(&to[i + j * WORD], bits.v[j], row);
        }
    }
}

// N neighbouring elements into shared memory, for this thread itself. Of 4
// bytes and more it is a copy, which ends with dcc_cp_wait.
template <int N, class T> DCC_DEVICE void dcc_hold(T *to, const T *from)
{
    constexpr int BYTES = N * sizeof(T), STEP = 16 / sizeof(T);
    if constexpr (BYTES >= 16) {
#pragma unroll
        for (int i = 0; i < N; i += STEP)
            dcc_cp_async16(to + i, from + i);
    } else if constexpr (BYTES == 8) {
        dcc_cp_async8(to, from);
    } else if constexpr (BYTES == 4) {
        dcc_cp_async4(to, from);
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i)
            to[i] = from[i];
    }
}

// Of a row of `end` elements the whole vector that begins at `at`, at either
// end partly beyond it: there is nothing there, or zeros.
template <int N, class T>
DCC_DEVICE void dcc_hold_within(T *to, const T *from, int at, int end)
{
    if (at >= 0 && at + N <= end) {
        dcc_hold<N>(to, from);
        return;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        to[i] = T();
        if (at + i >= 0 && at + i < end)
            to[i] = from[i];
    }
}

// The same of what is stored.
template <int N, class F, class T>
DCC_DEVICE void dcc_store_within(T *to, const F (&from)[N], int at, int end)
{
    if (at >= 0 && at + N <= end) {
        dcc_store<N>(to, from);
        return;
    }
#pragma unroll
    for (int i = 0; i < N; ++i)
        if (at + i >= 0 && at + i < end)
            dcc_assign(to[i], from[i]);
}

#endif
