// dcc_turn.cuh - tiles in shared memory that are read along another index than
// they are written along. dcc_device.cuh includes it.
#ifndef DCC_TURN_CUH
#define DCC_TURN_CUH

// Where a line begins in shared memory: PITCH from line to line, and SKEW more
// after APART of them, so that threads with as many are in different banks.
template <int PITCH, int SKEW, int APART> DCC_DEVICE int dcc_line(int line)
{
    return line * PITCH + line / APART * SKEW;
}

// N neighbouring elements at once, to shared memory by words: lines there begin
// where no vector may.
template <int N, class T> DCC_DEVICE void dcc_put(T *to, const T *from)
{
    const dcc_vector<T, N> x =
        *reinterpret_cast<const dcc_vector<T, N> *>(from);
    if constexpr (N * sizeof(T) % 4 == 0) {
        using word = dcc_vector<T, 4 / sizeof(T)>;
        constexpr int M = N * sizeof(T) / 4;
#pragma unroll
        for (int i = 0; i < M; ++i) {
            word w;
            memcpy(&w, &x.v[i * int(4 / sizeof(T))], sizeof w);
            *reinterpret_cast<word *>(to + i * (4 / sizeof(T))) = w;
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i)
            to[i] = x.v[i];
    }
}

// A tile of lines of LINE elements, each in pieces of 16 bytes whose order
// differs from STEP lines to the next STEP: threads that store one element to
// each of STEP lines, and those that load a piece, are in different banks.
template <int LINE, int STEP, class T> DCC_DEVICE int dcc_crossed(int line,
                                                                  int at)
{
    constexpr int PIECE = 16 / sizeof(T), PIECES = LINE / PIECE;
    return line * LINE + (at / PIECE + line / STEP) % PIECES * PIECE +
           at % PIECE;
}

// STEP neighbours in memory become element `at` of as many lines; of elements
// of 2 bytes, two at a time, of which the second lies `across` further on.
template <int LINE, int STEP, class T>
DCC_DEVICE void dcc_cross(T *tile, int line, int at, const T *from, int across)
{
    constexpr int N = 4 / sizeof(T);
    dcc_vector<T, STEP> x[N];
#pragma unroll
    for (int n = 0; n < N; ++n)
        x[n] = *reinterpret_cast<const dcc_vector<T, STEP> *>(from +
                                                               n * across);
    T *to = &tile[dcc_crossed<LINE, STEP, T>(line, at)];
#pragma unroll
    for (int i = 0; i < STEP; ++i) {
        dcc_vector<T, N> word;
#pragma unroll
        for (int n = 0; n < N; ++n)
            word.v[n] = x[n].v[i];
        *reinterpret_cast<dcc_vector<T, N> *>(to + i * LINE) = word;
    }
}

#endif
