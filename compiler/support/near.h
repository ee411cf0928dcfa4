/* near.h - "did you mean": the name most like one that is not there. */
#ifndef DCC_NEAR_H
#define DCC_NEAR_H

/* The name in `names` most like `name`, by edits or but for the case of its
 * letters; NULL if none is near enough. */
const char *near_name(const char *name, const char *const *names, int n);

/* The element type that numpy, PyTorch or C call `name`; NULL if it is none. */
const char *near_type(const char *name);

#endif
