/* fuzz_onnx.c - any bytes as an ONNX file: the scan, the reader, all passes of
 * the import. To build and run, in a build folder that has dcc:
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE \
 *         -DDCC_HAVE_PROTOBUF_C \
 *         -I. -I.. -I../compiler -I../dsl -Idsl -I../runtime \
 *         -Icompiler/import -o fuzz_onnx ../tests/fuzz/fuzz_onnx.c \
 *         ../compiler/import/*.c compiler/import/*.c \
 *         ../compiler/support/*.c ../runtime/base.c ../runtime/safe*.c \
 *         libdcc.a -lprotobuf-c -lm
 *     ./fuzz_onnx -rss_limit_mb=4096 CORPUS
 *
 * A corpus: the model.onnx of ONNX's backend tests. */
#include "import/ir.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    Arena *a = arena_new();
    Import c = {.arena = a, .path = "fuzz.onnx", .names = map_new(a),
                .asked = map_new(a), .wanted_name = "fuzz"};
    Buf text = {0};

    if (import_read_bytes(&c, data, size))
        import_text(&c, &text);
    buf_free(&text);
    buf_free(&c.messages);
    arena_free(a);
    return 0;
}
