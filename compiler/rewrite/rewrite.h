/* rewrite.h - what others see of this folder: the rewrites that groups are made
 * with, too, and who needs which values. The passes are compile.c's alone. */
#ifndef DCC_REWRITE_H
#define DCC_REWRITE_H

#include "rewrite/deviation.h"
#include "rewrite/inline.h"
#include "rewrite/inplace.h"
#include "rewrite/needed.h"
#include "rewrite/normalise.h"
#include "rewrite/range.h"
#include "rewrite/simplify.h"

#endif
