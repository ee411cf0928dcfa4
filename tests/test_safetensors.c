/* test_safetensors.c - the reader refuses every malformed file with a clear
 * text, converts what may be converted, and the writer leaves all or nothing.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "safetensors.h"

/* A file in memory: header text, then `size` bytes of data. */
typedef struct {
    unsigned char *bytes;
    size_t size;
} Image;

static Image image(const char *header, const void *data, size_t size)
{
    const size_t n = strlen(header);
    Image out = {malloc(8 + n + size + 1), 8 + n + size};

    for (int i = 0; i < 8; i++)
        out.bytes[i] = (unsigned char)(n >> 8 * i);
    memcpy(out.bytes + 8, header, n);
    if (size)
        memcpy(out.bytes + 8 + n, data, size);
    return out;
}

/* Parsing must fail, with `part` in the text. */
static void refuse(const char *header, size_t data, const char *part)
{
    static const unsigned char zeros[256];
    Image i = image(header, zeros, data);
    dcc_st_file *f;

    cr_expect_eq(dcc_st_parse(&f, "w.st", i.bytes, i.size), DCC_ERR_FORMAT,
                 "accepted: %s", header);
    cr_expect_null(f);
    cr_expect_not_null(strstr(dcc_error(), part), "\"%s\" has no \"%s\"",
                       dcc_error(), part);
    cr_expect_not_null(strstr(dcc_error(), "w.st"), "%s", dcc_error());
    free(i.bytes);
}

static dcc_st_file *accept(const char *header, const void *data, size_t size,
                           Image *keep)
{
    dcc_st_file *f;

    *keep = image(header, data, size);
    cr_assert_eq(dcc_st_parse(&f, "w.st", keep->bytes, keep->size), DCC_OK,
                 "%s", dcc_error());
    return f;
}

#define ENTRY(name, dtype, shape, from, to)                          \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape          \
    "],\"data_offsets\":[" #from "," #to "]}"

Test(safetensors, sizes)
{
    unsigned char tiny[8] = {0};
    dcc_st_file *f;

    cr_expect_eq(dcc_st_parse(&f, "w.st", tiny, 3), DCC_ERR_FORMAT);
    cr_expect_not_null(strstr(dcc_error(), "too few"));
    cr_expect_eq(dcc_st_parse(&f, "w.st", NULL, 0), DCC_ERR_FORMAT);
    tiny[0] = 1;
    cr_expect_eq(dcc_st_parse(&f, "w.st", tiny, 8), DCC_ERR_FORMAT);
    cr_expect_not_null(strstr(dcc_error(), "truncated"));
    memset(tiny, 0xff, sizeof tiny);
    cr_expect_eq(dcc_st_parse(&f, "w.st", tiny, 8), DCC_ERR_FORMAT);
    cr_expect_not_null(strstr(dcc_error(), "not a safetensors file"));
}

Test(safetensors, places)
{
    refuse("{" ENTRY("a", "F32", "2", 0, 8) "}", 4, "truncated: tensor \"a\"");
    refuse("{" ENTRY("a", "F32", "2", 0, 8) "}", 12, "after the last");
    refuse("{" ENTRY("a", "F32", "2", 4, 12) "}", 12, "belong to no tensor");
    refuse("{" ENTRY("a", "F32", "2", 0, 8) "," ENTRY("b", "F32", "2", 4, 12)
           "}", 12, "overlap");
    refuse("{" ENTRY("a", "F32", "2", 0, 8) "," ENTRY("b", "F32", "2", 0, 8)
           "}", 8, "overlap");
    refuse("{" ENTRY("a", "F32", "2", 8, 0) "}", 8, "before it begins");
    refuse("{" ENTRY("a", "F32", "3", 0, 8) "}", 8, "spans 8 bytes");
    refuse("{" ENTRY("a", "F32", "2", 0, 7) "}", 7, "spans 7 bytes");
    refuse("{" ENTRY("a", "F4", "3", 0, 2) "}", 2, "12 bits");
    refuse("{" ENTRY("a", "F32", "9223372036854775807,9", 0, 8) "}", 8,
           "too large");
    refuse("{" ENTRY("a", "F64", "4611686018427387904", 0, 8) "}", 8,
           "too large");
    refuse("{" ENTRY("a", "F32", "99999999999999999999", 0, 8) "}", 8,
           "too large");
    refuse("{" ENTRY("a", "U8", "9223372036854775807", 0,
                     9223372036854775807) "}", 8, "too large");
    refuse("{" ENTRY("a", "U8", "1152921504606846975", 0,
                     1152921504606846975) "}", 8, "truncated");
    refuse("{" ENTRY("a", "U8", "1,1,1,1,1,1,1,1,1", 0, 1) "}", 1,
           "more than 8");
}

Test(safetensors, names)
{
    refuse("{" ENTRY("a", "U8", "1", 0, 1) "," ENTRY("a", "U8", "1", 1, 2)
           "}", 2, "two tensors are called \"a\"");
    refuse("{" ENTRY("a", "U8", "1", 0, 1) "," ENTRY("a", "U8", "1", 0, 1)
           "}", 1, "two tensors are called \"a\"");
    refuse("{" ENTRY("a\\u0000b", "U8", "1", 0, 1) "}", 1, "character 0");
    refuse("{" ENTRY("\\ud800", "U8", "1", 0, 1) "}", 1, "surrogate");
    refuse("{" ENTRY("\\ud800\\u0041", "U8", "1", 0, 1) "}", 1, "surrogate");
    refuse("{" ENTRY("\\udc00", "U8", "1", 0, 1) "}", 1, "surrogate");
    refuse("{" ENTRY("\\uzzzz", "U8", "1", 0, 1) "}", 1, "hexadecimal");
    refuse("{" ENTRY("\\q", "U8", "1", 0, 1) "}", 1, "unknown escape");
    refuse("{" ENTRY("a\nb", "U8", "1", 0, 1) "}", 1, "control character");
    refuse("{" ENTRY("\xff", "U8", "1", 0, 1) "}", 1, "UTF-8");
    refuse("{" ENTRY("\xc0\xaf", "U8", "1", 0, 1) "}", 1, "UTF-8");
    refuse("{" ENTRY("\xed\xa0\x80", "U8", "1", 0, 1) "}", 1, "UTF-8");
    refuse("{" ENTRY("\xe2\x82", "U8", "1", 0, 1) "}", 1, "UTF-8");
    refuse("{\"a", 0, "does not end");
    refuse("{\"a\\", 0, "does not end");
}

Test(safetensors, json)
{
    char deep[4001];

    refuse("", 0, "begin with '{'");
    refuse("[]", 0, "begin with '{'");
    refuse("{", 0, "expected '\"'");
    refuse("{}x", 0, "after the header's end");
    refuse("{\"a\":{}}", 0, "expected '\"'");
    refuse("{\"a\":1}", 0, "expected '{'");
    refuse("{\"a\":{\"dtype\":\"F99\"", 0, "unknown dtype \"F99\"");
    refuse("{\"a\":{\"dtype\":\"F32\"}}", 0, "needs dtype, shape");
    refuse("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, "twice");
    refuse("{\"a\":{\"kind\":1}}", 0, "unknown key \"kind\"");
    refuse("{" ENTRY("a", "U8", "1.5", 0, 1) "}", 1, "whole number");
    refuse("{" ENTRY("a", "U8", "1e1", 0, 1) "}", 1, "whole number");
    refuse("{" ENTRY("a", "U8", "-1", 0, 1) "}", 1, "digits only");
    refuse("{" ENTRY("a", "U8", "01", 0, 1) "}", 1, "begin with 0");
    refuse("{" ENTRY("a", "U8", "1,", 0, 1) "}", 1, "digits only");
    refuse("{\"a\":{\"data_offsets\":[1]}}", 0, "two numbers");
    refuse("{\"a\":{\"data_offsets\":[1,2,3]}}", 0, "more than 2");
    refuse("{\"__metadata__\":{\"a\":1}}", 0, "expected '\"'");
    refuse("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "twice");
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = 0;
    memcpy(deep, "{\"a\":", 5);
    refuse(deep, 0, "header byte 5");
}

Test(safetensors, good_headers)
{
    Image keep;
    dcc_st_file *f = accept(
        "{\"__metadata__\":{\"format\":\"pt\"}, " ENTRY(
            "b", "U8", "0", 3, 3) "," ENTRY("caf\\u00e9\\ud83d\\ude00", "U8",
                                            "1,2", 1, 3) ","
        ENTRY("a", "BOOL", "", 0, 1) "}   ",
        "\1\2\3", 3, &keep);
    const dcc_st_tensor *t;

    cr_assert_eq(dcc_st_count(f), 3);
    cr_expect_str_eq(dcc_st_at(f, 0)->name, "a");
    cr_expect_eq(dcc_st_at(f, 0)->rank, 0);
    cr_expect_eq(dcc_st_at(f, 1)->count, 0);
    t = dcc_st_find(f, "caf\xc3\xa9\xf0\x9f\x98\x80");
    cr_assert_not_null(t);
    cr_expect_eq(t->bytes, 2);
    cr_expect_eq(t->data[1], 3);
    cr_expect_null(dcc_st_find(f, "c"));
    dcc_st_close(f);
    free(keep.bytes);
    f = accept("{}", NULL, 0, &keep);
    cr_expect_eq(dcc_st_count(f), 0);
    cr_expect_null(dcc_st_find(f, "a"));
    dcc_st_close(f);
    free(keep.bytes);
}

/* Reads tensor "a" of one dimension; the status. */
static dcc_status read_a(const dcc_st_file *f, dcc_type type, int64_t n,
                         void *out, dcc_st_change *change)
{
    dcc_st_want want = {"a", type, 1, &n, 1, "parameter"};

    return dcc_st_read(f, &want, out, change);
}

static void expect_text(const char *part)
{
    cr_expect_not_null(strstr(dcc_error(), part), "\"%s\" has no \"%s\"",
                       dcc_error(), part);
}

/* Values from the tables of the FP8 paper: least and largest of the subnormal
 * and the normal ones. */
Test(safetensors, floats_of_8_bits)
{
    const unsigned char e4m3[] = {0x00, 0x01, 0x07, 0x08, 0x38, 0xb9, 0x7e};
    const float e4m3_is[] = {0,    0x1p-9f,  0x1.cp-7f, 0x1p-6f,
                             1.0f, -1.125f, 448.0f};
    const unsigned char e5m2[] = {0x80, 0x01, 0x03, 0x04, 0x3c, 0x7b, 0xfc};
    const float e5m2_is[] = {0,    0x1p-16f, 0x1.8p-15f, 0x1p-14f,
                             1.0f, 57344.0f, -INFINITY};
    float out[7];
    uint16_t half[7];
    dcc_st_change change;
    Image keep;
    dcc_st_file *f =
        accept("{" ENTRY("a", "F8_E4M3", "7", 0, 7) "}", e4m3, 7, &keep);

    cr_assert_eq(read_a(f, DCC_F32, 7, out, &change), DCC_OK);
    cr_expect(change.converted && change.from == DCC_ST_F8_E4M3);
    for (int i = 0; i < 7; i++)
        cr_expect_eq(out[i], e4m3_is[i], "%d: %g", i, out[i]);
    dcc_st_close(f);
    free(keep.bytes);
    f = accept("{" ENTRY("a", "F8_E5M2", "7", 0, 7) "}", e5m2, 7, &keep);
    cr_assert_eq(read_a(f, DCC_F32, 7, out, NULL), DCC_OK);
    for (int i = 0; i < 7; i++)
        cr_expect_eq(out[i], e5m2_is[i], "%d: %g", i, out[i]);
    cr_assert_eq(read_a(f, DCC_F16, 7, half, NULL), DCC_OK);
    for (int i = 0; i < 7; i++)
        cr_expect_eq(half[i], e5m2[i] << 8);
    dcc_st_close(f);
    free(keep.bytes);
    f = accept("{" ENTRY("a", "F8_E4M3", "2", 0, 2) "}", "\1\xff", 2, &keep);
    cr_expect_eq(read_a(f, DCC_F32, 2, out, NULL), DCC_ERR_FORMAT);
    expect_text("holds a NaN at [1]");
    dcc_st_close(f);
    free(keep.bytes);
}

Test(safetensors, floats_are_converted)
{
    /* the f64 lies just above the middle of two halves: rounding by way of a
     * float would lose that */
    const double f64[] = {1.0, 1.0 + 0x1p-11 + 0x1p-40, 1e6, -INFINITY};
    const uint16_t f16[] = {0x3c00, 0x0001, 0xfbff};
    uint16_t half[4];
    float single[4];
    dcc_st_change change;
    Image keep;
    dcc_st_file *f =
        accept("{" ENTRY("a", "F64", "4", 0, 32) "}", f64, 32, &keep);

    cr_assert_eq(read_a(f, DCC_F16, 4, half, &change), DCC_OK);
    cr_expect_eq(half[0], 0x3c00);
    cr_expect_eq(half[1], 0x3c01);
    cr_expect_eq(half[2], 0x7c00);
    cr_expect_eq(half[3], 0xfc00);
    cr_expect(change.converted && change.from == DCC_ST_F64);
    cr_expect_eq(change.lost, 1);
    cr_assert_eq(read_a(f, DCC_F32, 4, single, &change), DCC_OK);
    cr_expect_eq(single[2], 1e6f);
    cr_expect_eq(change.lost, 0);
    cr_assert_eq(read_a(f, DCC_BF16, 4, half, NULL), DCC_OK);
    cr_expect_eq(half[0], 0x3f80);
    dcc_st_close(f);
    free(keep.bytes);
    const double large[] = {1e39, -INFINITY, 3e38, -1e300};
    f = accept("{" ENTRY("a", "F64", "4", 0, 32) "}", large, 32, &keep);
    cr_assert_eq(read_a(f, DCC_F32, 4, single, &change), DCC_OK);
    cr_expect_eq(change.lost, 2);
    cr_assert_eq(read_a(f, DCC_BF16, 4, half, &change), DCC_OK);
    cr_expect_eq(change.lost, 2);
    dcc_st_close(f);
    free(keep.bytes);

    f = accept("{" ENTRY("a", "F16", "3", 0, 6) "}", f16, 6, &keep);
    cr_assert_eq(read_a(f, DCC_F32, 3, single, &change), DCC_OK);
    cr_expect_eq(single[0], 1);
    cr_expect_eq(single[1], 0x1p-24f);
    cr_expect_eq(single[2], -65504);
    cr_assert_eq(read_a(f, DCC_F16, 3, half, &change), DCC_OK);
    cr_expect(!change.converted);
    dcc_st_close(f);
    free(keep.bytes);
}

Test(safetensors, misaligned_data_is_read)
{
    unsigned char data[9] = {1};
    const float pi = 3.25f, e = 2.75f;
    float out[2];
    Image keep;
    dcc_st_file *f;

    memcpy(data + 1, &pi, 4);
    memcpy(data + 5, &e, 4);
    f = accept("{" ENTRY("z", "U8", "1", 0, 1) "," ENTRY("a", "F32", "2", 1, 9)
               "}", data, 9, &keep);
    cr_assert_eq(read_a(f, DCC_F32, 2, out, NULL), DCC_OK);
    cr_expect(out[0] == pi && out[1] == e);
    dcc_st_close(f);
    free(keep.bytes);
}

Test(safetensors, wrong_tensors)
{
    const float values[] = {1, NAN, 3, 4};
    const int64_t dim[] = {2, 2}, wide[] = {4, 1};
    float out[4];
    Image keep;
    dcc_st_file *f =
        accept("{" ENTRY("a", "F32", "2,2", 0, 16) "}", values, 16, &keep);
    dcc_st_want want = {"a", DCC_F32, 2, dim, 1, "parameter"};

    cr_expect_eq(dcc_st_read(f, &want, out, NULL), DCC_ERR_FORMAT);
    expect_text("parameter \"a\" holds a NaN at [0, 1]");
    want.type = DCC_F16;
    cr_expect_eq(dcc_st_read(f, &want, out, NULL), DCC_ERR_FORMAT);
    expect_text("holds a NaN at [0, 1]");
    want.refuse_nan = 0;
    cr_expect_eq(dcc_st_read(f, &want, out, NULL), DCC_OK);
    want.dim = wide;
    cr_expect_eq(dcc_st_read(f, &want, out, NULL), DCC_ERR_FORMAT);
    expect_text("has shape [2, 2] in the file, the model needs [4, 1]");
    want.rank = 1;
    cr_expect_eq(dcc_st_read(f, &want, out, NULL), DCC_ERR_FORMAT);
    expect_text("the model needs [4]");
    want.type = DCC_I32;
    cr_expect_eq(dcc_st_read(f, &want, out, NULL), DCC_ERR_FORMAT);
    expect_text("is F32 in the file, the model needs i32");
    want.name = "b";
    cr_expect_eq(dcc_st_read(f, &want, out, NULL), DCC_ERR_FORMAT);
    expect_text("no tensor \"b\"");
    dcc_st_close(f);
    free(keep.bytes);
}

Test(safetensors, integers)
{
    const int64_t i64[] = {-5, 2147483647};
    const uint64_t u64[] = {1, 0x8000000000000000u};
    int32_t out[2];
    int8_t small[2];
    Image keep;
    dcc_st_file *f =
        accept("{" ENTRY("a", "I64", "2", 0, 16) "}", i64, 16, &keep);

    cr_expect_eq(read_a(f, DCC_I32, 2, out, NULL), DCC_OK);
    cr_expect(out[0] == -5 && out[1] == 2147483647);
    cr_expect_eq(read_a(f, DCC_I8, 2, small, NULL), DCC_ERR_FORMAT);
    expect_text("holds 2147483647, which is no i8, at [1]");
    cr_expect_eq(read_a(f, DCC_F32, 2, out, NULL), DCC_ERR_FORMAT);
    expect_text("is I64 in the file, the model needs f32");
    dcc_st_close(f);
    free(keep.bytes);
    f = accept("{" ENTRY("a", "U64", "2", 0, 16) "}", u64, 16, &keep);
    cr_expect_eq(read_a(f, DCC_I32, 2, out, NULL), DCC_ERR_FORMAT);
    expect_text("no i32");
    dcc_st_close(f);
    free(keep.bytes);
    f = accept("{" ENTRY("a", "BOOL", "2", 0, 2) "}", "\1\2", 2, &keep);
    cr_expect_eq(read_a(f, DCC_BOOL, 2, small, NULL), DCC_ERR_FORMAT);
    expect_text("holds 2, which is no bool");
    dcc_st_close(f);
    free(keep.bytes);
    f = accept("{" ENTRY("a", "F8_E8M0", "2", 0, 2) "}", "\1\2", 2, &keep);
    cr_expect_eq(read_a(f, DCC_F32, 2, out, NULL), DCC_ERR_FORMAT);
    expect_text("cannot be converted");
    dcc_st_close(f);
    free(keep.bytes);
}

/* ---- files ---- */

static char folder[] = "/tmp/test_safetensors.XXXXXX";

static void enter_folder(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static int files_here(void)
{
    DIR *d = opendir(".");
    int n = -2; /* . and .. */

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void leave_folder(void)
{
    unlink("a.st");
    unlink("link.st");
    rmdir("sub");
    cr_assert_eq(chdir("/"), 0);
    cr_expect_eq(rmdir(folder), 0);
}

static dcc_status write_two(const char *path)
{
    static const uint16_t h[] = {1, 2, 3};
    static const double d[] = {0.5, -1};
    static const int64_t three[] = {3}, two[] = {1, 2};
    const char *const metadata[] = {"by", "a \"test\"\n"};
    const dcc_st_out all[] = {{"h.\"x\"", DCC_ST_F16, 1, three, h},
                              {"d", DCC_ST_F64, 2, two, d}};

    return dcc_st_write(path, all, 2, metadata, 1);
}

Test(safetensors, written_files_are_read, .init = enter_folder,
     .fini = leave_folder)
{
    dcc_st_file *f;
    struct stat info;

    cr_assert_eq(write_two("a.st"), DCC_OK, "%s", dcc_error());
    cr_assert_eq(write_two("a.st"), DCC_OK, "%s", dcc_error());
    cr_expect_eq(files_here(), 1);
    cr_assert_eq(stat("a.st", &info), 0);
    cr_expect_eq(info.st_mode & 0400, 0400);
    cr_assert_eq(dcc_st_open(&f, "a.st"), DCC_OK, "%s", dcc_error());
    cr_expect_eq(dcc_st_count(f), 2);
    const dcc_st_tensor *d = dcc_st_find(f, "d");
    const dcc_st_tensor *h = dcc_st_find(f, "h.\"x\"");
    cr_assert(d && h);
    cr_expect_eq((uintptr_t)d->data % 8, 0);
    cr_expect_eq(((const double *)d->data)[1], -1);
    cr_expect_eq(((const uint16_t *)h->data)[2], 3);
    dcc_st_close(f);
}

Test(safetensors, a_link_stays_a_link, .init = enter_folder,
     .fini = leave_folder)
{
    struct stat info;

    cr_assert_eq(write_two("a.st"), DCC_OK);
    cr_assert_eq(symlink("a.st", "link.st"), 0);
    cr_assert_eq(write_two("link.st"), DCC_OK, "%s", dcc_error());
    cr_assert_eq(lstat("link.st", &info), 0);
    cr_expect(S_ISLNK(info.st_mode));
    cr_expect_eq(files_here(), 2);
}

/* Which a signal would leave behind: a write beyond the limit raises one. */
Test(safetensors, a_signal_leaves_nothing, .init = enter_folder,
     .fini = leave_folder)
{
    const pid_t child = fork();
    int status = 0;

    cr_assert(child >= 0);
    if (child == 0) {
        const struct rlimit limit = {40, 40};

        signal(SIGXFSZ, SIG_DFL);
        setrlimit(RLIMIT_FSIZE, &limit);
        write_two("a.st");
        _exit(1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    cr_expect_eq(files_here(), 0);
}

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

Test(safetensors, an_index_names_files_of_tensors, .init = enter_folder,
     .fini = leave_folder)
{
    dcc_st_file *f;

    put_file("a.json", "{\"weight_map\":{\"w\":\"a.json\"}}");
    cr_expect_eq(dcc_st_open(&f, "a.json"), DCC_ERR_FORMAT);
    expect_text("\"a.json\" is an index as well");
    put_file("b.json", "{\"weight_map\":{\"w\":\"none.st\"}}");
    cr_expect_eq(dcc_st_open(&f, "b.json"), DCC_ERR_IO); /* as of one file */
    expect_text("b.json: none.st: No such file");
}

Test(safetensors, unwritable_places, .init = enter_folder,
     .fini = leave_folder)
{
    cr_expect_eq(write_two("/nonexistent/a.st"), DCC_ERR_IO);
    expect_text("No such file");
    cr_assert_eq(mkdir("sub", 0700), 0);
    cr_expect_eq(write_two("sub"), DCC_ERR_IO);
    expect_text("Is a directory");
    cr_expect_eq(files_here(), 1);
    if (access("/dev/full", W_OK) == 0) {
        cr_expect_eq(write_two("/dev/full"), DCC_ERR_IO);
        expect_text("No space left");
    }
    cr_expect_eq(dcc_write_text("sub", "x"), DCC_ERR_IO);
}

Test(safetensors, unreadable_places, .init = enter_folder,
     .fini = leave_folder)
{
    dcc_st_file *f;
    FILE *empty = fopen("a.st", "w");

    fclose(empty);
    cr_expect_eq(dcc_st_open(&f, "a.st"), DCC_ERR_FORMAT);
    expect_text("too few");
    cr_expect_eq(dcc_st_open(&f, "."), DCC_ERR_IO);
    expect_text("not a regular file");
    cr_expect_eq(dcc_st_open(&f, "none.st"), DCC_ERR_IO);
    expect_text("none.st: No such file");
}

Test(safetensors, one_name_is_written_once)
{
    static const int64_t one[] = {1};
    const dcc_st_out all[] = {{"a", DCC_ST_U8, 1, one, "x"},
                              {"a", DCC_ST_U8, 1, one, "y"}};

    cr_expect_eq(dcc_st_write("/tmp/never.st", all, 2, NULL, 0), DCC_ERR_ARG);
    cr_expect_neq(access("/tmp/never.st", F_OK), 0);
}

/* ---- conversions ---- */

Test(base, a_long_name_does_not_hide_what_is_wrong)
{
    char name[5000];

    memset(name, 'm', sizeof name - 1);
    name[sizeof name - 1] = 0;
    cr_expect_eq(dcc_fail(DCC_ERR_ARG, "%s: why", name), DCC_ERR_ARG);
    cr_expect_str_eq(dcc_error() + strlen(dcc_error()) - 6, "m: why");
    cr_expect_not_null(strstr(dcc_error(), "mm ... mm"));
    dcc_fail(DCC_ERR_ARG, "%s, again", dcc_error());
    cr_expect_str_eq(dcc_error() + strlen(dcc_error()) - 12, ": why, again");
}

Test(base, halves_round_trip)
{
    for (unsigned h = 0; h < 0x10000; h++) {
        const int is_nan = (h & 0x7fff) > 0x7c00;
        const float f = dcc_half_to_float((uint16_t)h);

        if (is_nan)
            cr_assert(isnan(f));
        else
            cr_assert_eq(dcc_float_to_half(f), h, "%04x", h);
        if ((h & 0x7fff) <= 0x7f80)
            cr_assert_eq(
                dcc_float_to_bfloat(dcc_bfloat_to_float((uint16_t)h)), h);
    }
}

/* Halfway values go to the even neighbour, a little more to the next. */
Test(base, halves_round_to_nearest_even)
{
    for (unsigned h = 0; h < 0x7bff; h++) {
        const float a = dcc_half_to_float((uint16_t)h);
        const float b = dcc_half_to_float((uint16_t)(h + 1));
        const float middle = (a + b) / 2;

        cr_assert_eq(dcc_float_to_half(middle), h + (h & 1), "%04x", h);
        cr_assert_eq(dcc_float_to_half(nextafterf(middle, b)), h + 1);
        cr_assert_eq(dcc_float_to_half(nextafterf(middle, a)), h);
    }
    cr_expect_eq(dcc_float_to_half(65519.99f), 0x7bff);
    cr_expect_eq(dcc_float_to_half(65520.0f), 0x7c00);
    cr_expect_eq(dcc_float_to_half(-1e-10f), 0x8000);
}
