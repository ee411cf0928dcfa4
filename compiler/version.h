/* version.h - the version of dcc that emitted files and plans name. */
#ifndef DCC_VERSION_H
#define DCC_VERSION_H
#define DCC_VERSION "0.1.0"
#endif
