/* group_dump.h - a group for people: --dump=select. */
#ifndef DCC_GROUP_DUMP_H
#define DCC_GROUP_DUMP_H

#include "group/group.h"

void group_dump(Buf *b, const Group *gr);

#endif
