/* fuzz_safetensors.c - libFuzzer target: any bytes are a file. The first byte
 * chooses what is wanted of every tensor that the parser lets through.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -Iruntime \
 *       tests/fuzz/fuzz_safetensors.c runtime/base.c runtime/safetensors*.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads tensor t as `type`; all of its bytes are touched. */
static void read_tensor(const dcc_st_file *f, const dcc_st_tensor *t,
                        dcc_type type)
{
    dcc_st_want want = {t->name, type, t->rank, t->dim, 1, "parameter"};
    dcc_st_change change;
    size_t bytes = (size_t)t->count * dcc_type_size(type);
    unsigned char *out;

    if (t->count > 1 << 20)
        return;
    out = malloc(bytes + 1);
    if (!out)
        abort();
    out[bytes] = 0x5a;
    dcc_st_read(f, &want, out, &change);
    if (out[bytes] != 0x5a)
        abort();
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dcc_st_file *f;
    uint8_t *copy;
    dcc_type type;

    if (size == 0)
        return 0;
    type = (dcc_type)(data[0] % (DCC_U8 + 1));
    copy = malloc(size); /* its end is seen by the address sanitizer */
    if (!copy)
        abort();
    memcpy(copy, data + 1, size - 1);
    if (dcc_st_parse(&f, "fuzz", copy, size - 1) == DCC_OK) {
        for (int i = 0; i < dcc_st_count(f); i++) {
            const dcc_st_tensor *t = dcc_st_at(f, i);

            if (dcc_st_find(f, t->name) != t)
                abort();
            read_tensor(f, t, type);
        }
        dcc_st_close(f);
    } else if (f || !dcc_error()[0]) {
        abort();
    }
    free(copy);
    return 0;
}
