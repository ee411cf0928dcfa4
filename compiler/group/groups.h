/* groups.h - what others see of this folder: groups, what becomes one, and what
 * is known of them. */
#ifndef DCC_GROUPS_H
#define DCC_GROUPS_H

#include "group/chain.h"
#include "group/clash.h"
#include "group/factor_sum.h"
#include "group/fold.h"
#include "group/functions.h"
#include "group/fuse.h"
#include "group/group.h"
#include "group/group_dump.h"
#include "group/norm.h"
#include "group/online.h"
#include "group/passes.h"
#include "group/row_values.h"
#include "group/siblings.h"
#include "group/split.h"

#endif
