#include "family/family.h"

#include "group/groups.h"

const Family *const family_table[] = {
    &family_map, &family_turn, &family_prefix, &family_listed,
    &family_reduce,
    &family_contract_skinny, &family_contract_stream,
    &family_contract_halo, &family_contract_taps,
    &family_contract_wgmma, &family_contract_wgmma_turned,
    &family_contract_mma,
    &family_contract_simt, &family_chain_wgmma,
    &family_chain_mma, &family_chain_few, &family_chain_window, NULL,
};

static const char *other_shape(const Family *f, const Group *gr)
{
    if (f->chains && !gr->chain)
        return "no two products with what lies between them";
    if (!f->chains && gr->chain)
        return "two products with what lies between them";
    if (gr->chain && gr->chain->twin && f != &family_chain_wgmma)
        return "two chains of the same scores";
    bool whole = gr->merge && !gr->merge->size;
    if (whole && f != &family_contract_skinny)
        return "values of rows that a product computes first";
    if (gr->pieces && gr->pieces->reduced)
        return f == &family_contract_simt || f == &family_contract_mma ||
                       f == &family_contract_wgmma
                   ? NULL
                   : "reductions over pieces of its columns";
    if (gr->factor_sum && f != &family_contract_wgmma)
        return "a sum of one of its factors besides";
    if (!whole && (gr->merge || gr->pieces) && f != &family_contract_wgmma)
        return "rows whose statistics products make and take";
    return NULL;
}

const void *family_open(const Family *f, Graph *g, const Group *gr,
                        const Options *o, const char **why)
{
    *why = other_shape(f, gr);
    return *why ? NULL : f->open(g, gr, o, why);
}

const char *variant_text(const Family *f, const void *form, const Variant *v)
{
    return v->text ? v->text : f->text(form, v);
}

Variant *family_variants(Arena *a, const Variant *v, int n)
{
    return arena_copy(a, v, n, n, sizeof *v);
}

const void *family_form(Graph *g, void *f, size_t n, const char *why)
{
    if (!why)
        return f;
    arena_give_back(g->arena, f, n);
    return NULL;
}

const char *math_name(int math)
{
    static const char *const name[] = {"exact", "tf32", "3xtf32"};

    return name[math];
}
