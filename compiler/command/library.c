/* library.c - dcc build: a shared library of what was emitted (driver.h).
 *
 * Beside the C API it has dcc_library, a table of its models, and a few
 * functions for device memory, for a program that has no header and no CUDA;
 * runtime/dcc.py is one. */
#include "command/driver_priv.h"
#include "support/support.h"

#include <sys/stat.h>

static int build_library(Build *b)
{
    static const char *const parts[] = {"base.c", "safetensors*.c", "rt*.c",
                                        NULL};
    Workdir *w = &b->work;
    Command c = {0};

    if (b->gpu) {
        command_words(w, &c, driver_nvcc(b));
        command_split(w, &c, "-O3 -std=c++17 -shared -Xcompiler -fPIC");
        command_split(w, &c, b->o->arch);
        command_split(w, &c, "-diag-suppress 177,550 -I");
        command_add(w, &c, b->runtime);
    } else {
        command_add(w, &c, "sh");
        command_add(w, &c,
                    arena_printf(w->arena, "%s/emu/dcc-emu-cc", b->runtime));
        command_add(w, &c, "--shared");
        command_split(w, &c, driver_env("DCC_EMU_FLAGS", "-O1"));
    }
    command_add(w, &c, "-o");
    command_add(w, &c, work_path(w, "library"));
    command_add(w, &c, work_path(w, "program.cu"));
    if (b->gpu)
        driver_sources(b, &c, parts);
    return driver_built(b, "program",
                        work_start(w, &c, work_path(w, "program.log")));
}

/* Into its place, as any output. */
static int deliver(Build *b)
{
    const char *made = work_path(&b->work, "library"), *out = b->o->out;
    Buf bytes = {0};
    struct stat st;
    int status = MACHINE;

    if (file_read(&bytes, made) && file_write(buf_text(&bytes), bytes.len, out))
        status = 0;
    else
        say_error("cannot write '%s': %s", out, file_error());
    /* a library is a program to some */
    if (!status && stat(out, &st) == 0)
        chmod(out, st.st_mode | (st.st_mode & 0444) >> 2);
    buf_free(&bytes);
    return status;
}

int driver_build(const Driver *o)
{
    Build b;

    if (!driver_open(&b, o))
        return MACHINE;
    int status = build_library(&b);
    if (!status)
        status = deliver(&b);
    driver_close(&b);
    return status;
}
