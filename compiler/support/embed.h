/* embed.h - the text files that dcc carries inside itself.
 *
 * tools/embed.awk writes the tables at build time. Each ends with an entry
 * whose name is NULL; `name` is the file's last path component, `text` its
 * bytes and a terminating zero. All of it is constant and nobody's to free. */
#ifndef DCC_EMBED_H
#define DCC_EMBED_H

typedef struct EmbeddedFile {
    const char *name;
    const char *text;
} EmbeddedFile;

extern const EmbeddedFile embedded_devices[];   /* compiler/devices/ *.dev */
extern const EmbeddedFile embedded_templates[]; /* templates/ *.cu.in */
extern const EmbeddedFile embedded_runtime[];   /* runtime/, for --standalone */

#endif
