#include "import/parts.h"

#include <string.h>

Node *part(const Parts *p, const char *op, int n_in)
{
    Node *n = node_new(p->c, op, p->of->name, n_in, 1);

    n->domain = "";
    n->version = 13;
    n->scope = p->of->scope;
    return n;
}

Value *part_made(const Parts *p, Node *n, bool last)
{
    n->out[0] = last ? p->of->out[0] : value_new(p->c, NULL);
    n->out[0]->def = n;
    n->out[0]->wide = p->wide && !last;
    p->add(p->c, n);
    return n->out[0];
}

Value *part_of_two(const Parts *p, const char *op, Value *a, Value *b,
                   bool last)
{
    Node *n = part(p, op, 2);

    n->in[0] = a;
    n->in[1] = b;
    return part_made(p, n, last);
}

void node_in_parts(Import *c, Node *n, AddNode *add)
{
    Parts p = {c, n, add, *n->domain != 0};

    if (n->n_out != 1)
        import_error(c, n, "%d results", n->n_out);
    else if (*n->domain)
        quantized_parts(&p);
    else
        transform_parts(&p);
}
