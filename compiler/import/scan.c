#include "import/scan.h"

enum { VARINT = 0, FIXED64 = 1, LEN = 2, FIXED32 = 5 };

typedef struct Cursor {
    const uint8_t *p, *end;
} Cursor;

static bool fail(Scan *s, const uint8_t *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(Scan *s, const uint8_t *at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    s->error = arena_vprintf(s->arena, fmt, ap);
    va_end(ap);
    s->at = (size_t)(at - s->begin);
    return false;
}

static bool varint(Scan *s, Cursor *c, uint64_t *v)
{
    const uint8_t *from = c->p;

    *v = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (c->p == c->end)
            return fail(s, from, "a number is cut off");
        uint8_t b = *c->p++;
        if (shift == 63 && b > 1)
            break;
        *v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128))
            return true;
    }
    return fail(s, from, "a number has more than 64 bits");
}

static bool charge(Scan *s, const uint8_t *at, size_t n)
{
    s->memory += n;
    if (s->memory > SCAN_MAX_MEMORY)
        return fail(s, at, "reading it would take more than %d MB",
                    SCAN_MAX_MEMORY >> 20);
    return true;
}

/* A length, always of five bytes so that it can be written later. */
static void put_length(char *at, size_t n)
{
    for (int i = 0; i < 5; i++, n >>= 7)
        at[i] = (char)((n & 127) | (i < 4 ? 128 : 0));
}

static void put_part(Scan *s, const uint8_t *p, size_t n)
{
    uint64_t number = (uint64_t)s->n_part;

    VEC_PUSH(s->arena, s->part, s->n_part, s->cap_part) = (ScanBytes){p, n};
    buf_putc(&s->out, 8);
    for (int i = 0; i < 8; i++)
        buf_putc(&s->out, (char)(number >> 8 * i));
}

static bool message(Scan *s, Cursor c, const ProtobufCMessageDescriptor *d,
                    int depth);

static bool submessage(Scan *s, Cursor c, const ProtobufCMessageDescriptor *d,
                       int depth)
{
    size_t at = s->out.len;

    buf_putn(&s->out, "\0\0\0\0\0", 5);
    if (!message(s, c, d, depth + 1))
        return false;
    put_length(s->out.text + at, s->out.len - at - 5);
    return true;
}

/* How many numbers a packed list holds; the elements are checked. */
static bool packed(Scan *s, Cursor c, const ProtobufCFieldDescriptor *f)
{
    uint64_t v;
    size_t n = (size_t)(c.end - c.p);

    switch (f->type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return n % 4 ? fail(s, c.p, "'%s' ends within a number", f->name)
                     : charge(s, c.p, n);
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return n % 8 ? fail(s, c.p, "'%s' ends within a number", f->name)
                     : charge(s, c.p, n);
    default:
        break;
    }
    if (!charge(s, c.p, 8 * n))
        return false;
    while (c.p < c.end)
        if (!varint(s, &c, &v))
            return false;
    return true;
}

static bool length_field(Scan *s, Cursor c, const ProtobufCMessageDescriptor *d,
                         const ProtobufCFieldDescriptor *f, int depth)
{
    size_t n = (size_t)(c.end - c.p);
    char length[5];

    if (f && f->type == PROTOBUF_C_TYPE_MESSAGE)
        return submessage(s, c, f->descriptor, depth);
    if (f && f->type == PROTOBUF_C_TYPE_BYTES &&
        !strcmp(d->short_name, s->bytes_message) &&
        !strcmp(f->name, s->bytes_field)) {
        put_part(s, c.p, n);
        return charge(s, c.p, sizeof(ScanBytes));
    }
    if (f && f->type == PROTOBUF_C_TYPE_STRING) {
        if (memchr(c.p, 0, n))
            return fail(s, c.p, "'%s' has a zero byte", f->name);
        if (!charge(s, c.p, n + 16))
            return false;
    } else if (f && f->type == PROTOBUF_C_TYPE_BYTES) {
        if (!charge(s, c.p, n + 16))
            return false;
    } else if (f && f->label == PROTOBUF_C_LABEL_REPEATED) {
        if (!packed(s, c, f))
            return false;
    } else if (f) {
        return fail(s, c.p, "'%s' is of another type", f->name);
    } else if (!charge(s, c.p, n + 64)) {
        return false;
    }
    put_length(length, n);
    buf_putn(&s->out, length, 5);
    buf_putn(&s->out, (const char *)c.p, n);
    return true;
}

/* The wire type that a single element of the field has. */
static int wire_of(const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return FIXED32;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return LEN;
    default:
        return VARINT;
    }
}

static bool field(Scan *s, Cursor *c, const ProtobufCMessageDescriptor *d,
                  uint64_t *seen, int depth)
{
    const uint8_t *from = c->p;
    uint64_t tag, n = 0;

    if (!varint(s, c, &tag))
        return false;
    int wire = (int)(tag & 7);
    if (tag >> 3 == 0 || tag >> 3 > 536870911)
        return fail(s, from, "field number %llu",
                    (unsigned long long)(tag >> 3));
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(d, (unsigned)(tag >> 3));
    bool many = f && f->label == PROTOBUF_C_LABEL_REPEATED;
    if (f && wire != wire_of(f) && !(many && wire == LEN))
        return fail(s, from, "'%s' is of another type", f->name);
    if (f && !many && f->type == PROTOBUF_C_TYPE_MESSAGE) {
        uint64_t bit = 1ull << ((f - d->fields) & 63);
        if (*seen & bit)
            return fail(s, from, "'%s' is there twice", f->name);
        *seen |= bit;
    }
    if (!charge(s, from, f ? 8 : 64))
        return false;
    if (wire != LEN) {
        if (wire == VARINT && !varint(s, c, &n))
            return false;
        size_t width = wire == FIXED64 ? 8 : wire == FIXED32 ? 4 : 0;
        if (wire != VARINT && !width)
            return fail(s, from, "wire type %d", wire);
        if (width > (size_t)(c->end - c->p))
            return fail(s, from, "a number is cut off");
        c->p += width;
        buf_putn(&s->out, (const char *)from, (size_t)(c->p - from));
        return true;
    }
    buf_putn(&s->out, (const char *)from, (size_t)(c->p - from));
    if (!varint(s, c, &n))
        return false;
    if (n > (size_t)(c->end - c->p))
        return fail(s, from, "%llu bytes are announced, %zu are left",
                    (unsigned long long)n, (size_t)(c->end - c->p));
    Cursor inner = {c->p, c->p + n};
    c->p += n;
    return length_field(s, inner, d, f, depth);
}

static bool message(Scan *s, Cursor c, const ProtobufCMessageDescriptor *d,
                    int depth)
{
    uint64_t seen = 0;

    if (depth > SCAN_MAX_DEPTH)
        return fail(s, c.p, "messages are nested more than %d deep",
                    SCAN_MAX_DEPTH);
    if (!charge(s, c.p, d->sizeof_message + 16))
        return false;
    while (c.p < c.end)
        if (!field(s, &c, d, &seen, depth))
            return false;
    return true;
}

bool scan_message(Scan *s, const uint8_t *p, size_t n,
                  const ProtobufCMessageDescriptor *d)
{
    s->begin = p;
    return message(s, (Cursor){p, p + n}, d, 0);
}
