/* version.h - the version of dcc that emitted files and plans name. */
#ifndef DCC_VERSION_H
#define DCC_VERSION_H
#define DCC_VERSION "0.1.0"
/* DCC_INTERFACE of dcc_rt.h that emitted files are written for. */
#define DCC_INTERFACE_VERSION 5
#endif
