#include "command/probe.h"

#include "command/driver_priv.h"
#include "command/place.h"
#include "model/model.h"
#include "support/support.h"

#include <string.h>

/* The program, or NULL after a message. */
static const char *compiled(Build *b)
{
    Workdir *w = &b->work;
    const char *program = work_path(w, "probe");
    const char *log = work_path(w, "probe.log");
    Command c = {0};
    Buf text = {0};

    command_words(w, &c, driver_nvcc(b));
    command_split(w, &c, "-O3 -std=c++17 -arch=native -o");
    command_add(w, &c, program);
    command_add(w, &c, arena_printf(w->arena, "%s/probe.cu", b->runtime));
    if (work_run(w, &c, log) == 0)
        return program;
    file_read(&text, log);
    say_error("nvcc cannot build the probe for the GPU at hand\n%s",
              buf_text(&text));
    buf_free(&text);
    return NULL;
}

/* What it printed, if that is a .dev file. */
static bool measured(Build *b, const char *program, Buf *text)
{
    Workdir *w = &b->work;
    const char *log = work_path(w, "probe.dev"), *why;
    Command c = {0};

    command_add(w, &c, program);
    int status = work_run(w, &c, log);
    if (!file_read(text, log))
        say_error("cannot read '%s': %s", log, file_error());
    else if (status)
        say_error("the probe ended with status %d\n%s", status,
                  buf_text(text));
    else if (!device_read(w->arena, "probe", buf_text(text), &why))
        say_error("the probe's figures: %s\n%s", why, buf_text(text));
    else
        return true;
    return false;
}

static int probe(Build *b, const char *out)
{
    const char *program = compiled(b);
    Buf text = {0};
    int status = 3;

    if (program && measured(b, program, &text)) {
        status = 0;
        if (!file_write(buf_text(&text), text.len, out)) {
            say_error("cannot write '%s': %s", out, file_error());
            status = 3;
        }
    }
    buf_free(&text);
    return status;
}

int probe_gpu(Arena *a, const char *out)
{
    const char *looked;
    Build b = {.runtime = place_runtime(a, &looked)};
    int status = 3;

    if (!b.runtime) {
        say_error("no runtime in %s; DCC_RUNTIME_DIR says where it is",
                  looked);
        return 3;
    }
    if (!work_open(&b.work, a, NULL))
        return 3;
    if (!driver_have_gpu())
        say_error("dcc probe: there is no NVIDIA GPU, or no driver for it");
    else if (!have_command(&b.work, driver_nvcc(&b)))
        say_error("dcc probe: nvcc is not found; add it to PATH or set NVCC");
    else
        status = probe(&b, out);
    work_close(&b.work);
    return status;
}
