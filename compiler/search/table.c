#include "search/family.h"

const Family *const family_table[] = {
    &family_map, &family_reduce, &family_contract_skinny,
    &family_contract_stream,
    &family_contract_halo,
    &family_contract_wgmma, &family_contract_mma,
    &family_contract_simt, NULL,
};
