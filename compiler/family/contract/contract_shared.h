/* contract_shared.h - what other engines see of this folder: the analysis of a
 * contraction, how operands come, and how sums are finished. */
#ifndef DCC_FAMILY_CONTRACT_SHARED_H
#define DCC_FAMILY_CONTRACT_SHARED_H

#include "family/contract/contract.h"
#include "family/contract/contract_finish.h"
#include "family/contract/contract_mma.h"
#include "family/contract/contract_tma.h"

#endif
