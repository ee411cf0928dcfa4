#include "import/ir.h"

/* Who needs what, from the outputs back. */
void import_live(Import *c)
{
    for (int i = 0; i < c->n_node; i++) {
        Node *n = c->node[i];
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k])
                n->out[k]->uses = 0;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k])
                n->in[k]->uses = 0;
    }
    for (int i = 0; i < c->n_output; i++)
        c->output[i]->uses++;
    for (int i = c->n_node - 1; i >= 0; i--) {
        Node *n = c->node[i];
        bool used = false;
        for (int k = 0; k < n->n_out; k++)
            used = used || (n->out[k] && n->out[k]->uses && !n->out[k]->known);
        n->dead = !used;
        for (int k = 0; used && k < n->n_in; k++)
            if (n->in[k])
                n->in[k]->uses++;
    }
}
