/* support.h - what others see of this folder: memory, text, messages, files. */
#ifndef DCC_SUPPORT_H
#define DCC_SUPPORT_H

#include "support/arena.h"
#include "support/buf.h"
#include "support/diag.h"
#include "support/embed.h"
#include "support/escape.h"
#include "support/file.h"
#include "support/map.h"
#include "support/near.h"
#include "support/say.h"

#endif
