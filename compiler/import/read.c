#include "import/reader.h"

#include <stdlib.h>

enum { MAX_CALLS = 32, MAX_TRIPS = 10000 };

static void read_nodes(Reader *r, Scope *s, Onnx__NodeProto **node, size_t n);

static Value *scope_find(const Scope *s, const char *name)
{
    for (; s; s = s->up) {
        Value *v = map_get(s->value, name);
        if (v)
            return v;
    }
    return NULL;
}

static const char *prefixed(Reader *r, const Scope *s, const char *name)
{
    return *s->prefix ? arena_printf(r->c->arena, "%s%s", s->prefix, name)
                      : arena_strdup(r->c->arena, name);
}

static bool standard(const char *domain)
{
    return !*domain || !strcmp(domain, "ai.onnx");
}

static int version_of(const Scope *s, const char *domain)
{
    for (size_t i = 0; i < s->n_opset; i++) {
        const char *d = s->opset[i]->domain ? s->opset[i]->domain : "";
        if (s->opset[i]->has_version &&
            (!strcmp(d, domain) || (standard(d) && standard(domain))))
            return s->opset[i]->version < 1 || s->opset[i]->version > 1000
                       ? 1
                       : (int)s->opset[i]->version;
    }
    return 1;
}

/* ---- one node ----------------------------------------------------------- */

/* Names bound to values; a name twice is an error. */
static void bind(Reader *r, Scope *s, const char *name, Value *v, const Node *n)
{
    if (map_get(s->value, name))
        import_error(r->c, n, "'%s' is defined a second time", name);
    else
        map_put(s->value, name, v);
}

static Value **operands(Reader *r, Scope *s, const Onnx__NodeProto *p,
                        const Node *n)
{
    Value **in = arena_array(r->c->arena, Value *, p->n_input + 1);

    for (size_t i = 0; i < p->n_input; i++) {
        const char *name = p->input[i] ? p->input[i] : "";
        if (!*name)
            continue;
        in[i] = scope_find(s, name);
        if (!in[i]) {
            import_error(r->c, n,
                         "operand '%s' is not defined by what "
                         "stands before",
                         name);
            in[i] = value_new(r->c, name);
            map_put(s->value, name, in[i]);
        }
    }
    return in;
}

static bool operands_known(const Node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->shape.rank < 0)
            return false;
    return true;
}

static void check_attributes(Import *c, const Node *n)
{
    for (int i = 0; i < n->n_attr; i++) {
        const char *name = n->attr[i].name;
        const char *list = n->info->attrs ? n->info->attrs : "";
        size_t len = strlen(name);
        bool known = false;
        for (const char *p = list; len && (p = strstr(p, name)); p += len)
            if ((p == list || p[-1] == ',') && (!p[len] || p[len] == ','))
                known = true;
        if (!known)
            import_error(c, n, "attribute '%s' is not supported", name);
    }
}

static void check_sizes(Import *c, Node *n)
{
    for (int i = 0; i < n->n_out; i++) {
        const Value *v = n->out[i];
        for (int k = 0; v && k < v->shape.rank; k++) {
            int64_t d = v->shape.dim[k];
            if (d < 0 || (!d && !v->known) ||
                (d >= IMPORT_BATCH && d % IMPORT_BATCH && !v->known &&
                 c->has_batch)) {
                import_error(
                    c, n,
                    d > 0 ? "a size of its result is no "
                            "multiple of the batch; fix the batch with --dim"
                          : "its result is empty");
                n->out[i]->shape.rank = -1;
                break;
            }
        }
    }
}

/* Of what has no elements nothing is left to compute. */
static void know_empty(Import *c, Node *n)
{
    for (int i = 0; i < n->n_out; i++) {
        Value *v = n->out[i];
        if (v && !v->known && v->shape.rank > 0 && !shape_count(&v->shape))
            v->known = known_new(c, v->type, 0, false);
    }
}

/* What emitting relies on: operands that must be there, a result. */
static bool enough(Import *c, const Node *n)
{
    for (int i = 0; i < op_needs(n->info); i++)
        if (!node_in(n, i)) {
            import_error(c, n, "operand %d is missing", i);
            return false;
        }
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            return n->n_out <= 64 ||
                   (import_error(c, n, "%d results", n->n_out), false);
    import_error(c, n, "it has no result");
    return false;
}

/* A float constant in another float type. */
static Value *retyped(Import *c, Value *v, OnnxType t)
{
    if (v->retyped && v->retyped->type == t)
        return v->retyped;
    Value *to = v->retyped = arena_new_of(c->arena, Value);
    Const *k = known_new(c, t, v->known->n, v->known->splat);
    *to = *v;
    k->turned = v->known->turned;
    for (int64_t i = 0; i < (k->splat ? 1 : k->n); i++)
        known_set_float(k, i, known_float(v->known, i));
    to->type = t;
    to->known = k;
    to->retyped = NULL;
    c->floats[v->type]--;
    c->floats[t]++;
    return to;
}

/* Operands of a product have one type. PyTorch folds batch norms into weights
 * in f32, whatever the network's type is: constants take the others' type. */
static bool one_type(Import *c, Node *n)
{
    static const char *const products[] = {"Conv", "ConvTranspose", "Gemm",
                                           "MatMul", NULL};
    const Value *first = NULL;
    bool is_product = false;

    for (const char *const *p = products; *p; p++)
        is_product |= !strcmp(n->op, *p);
    for (int i = 0; i < n->n_in && !first; i++)
        if (n->in[i] && !n->in[i]->known)
            first = n->in[i];
    if (!is_product || !first || !onnx_is_float(first->type))
        return true;
    for (int i = 0; i < n->n_in; i++) {
        Value *v = n->in[i];
        if (!v || v->type == first->type)
            continue;
        if (!v->known || !onnx_is_float(v->type)) {
            import_error(c, n, "its operands are %s and %s",
                         onnx_type_name(first->type), onnx_type_name(v->type));
            return false;
        }
        n->in[i] = retyped(c, v, first->type);
    }
    return true;
}

/* Shapes, types, contents of what a node makes. */
static void infer(Import *c, Node *n)
{
    bool named = false;

    node_of_today(c, n);
    n->info = op_find(n->domain, n->op, n->version, &named);
    if (!n->info) {
        import_error(c, n,
                     named ? "this version of the operator is not "
                             "supported"
                           : "the operator is not supported");
        return;
    }
    check_attributes(c, n);
    if (!enough(c, n) || !operands_known(n) || !one_type(c, n))
        return;
    if (!n->info->infer) {
        node_in_parts(c, n, infer);
        return;
    }
    int errors = c->errors;
    if (!n->info->infer(c, n)) {
        if (c->errors == errors)
            import_error(c, n, "an operand or attribute is missing");
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i])
                n->out[i]->shape.rank = -1;
        return;
    }
    know_empty(c, n);
    import_fold(c, n);
    import_alike(c, n);
    check_sizes(c, n);
    VEC_PUSH(c->arena, c->node, c->n_node, c->cap_node) = n;
    if (c->n_node > IMPORT_MAX_NODES) {
        import_error(c, NULL, "more than %d nodes", IMPORT_MAX_NODES);
        c->fatal = true;
    }
}

static void make_outputs(Reader *r, Scope *s, const Onnx__NodeProto *p, Node *n)
{
    Import *c = r->c;

    n->n_out = (int)p->n_output;
    n->out = arena_array(c->arena, Value *, p->n_output + 1);
    for (int i = 0; i < n->n_out; i++) {
        const char *name = p->output[i] ? p->output[i] : "";
        if (!*name)
            continue;
        n->out[i] = value_new(c, prefixed(r, s, name));
        n->out[i]->def = n;
        bind(r, s, name, n->out[i], n);
    }
}

/* ---- bodies: functions, branches, loops --------------------------------- */

static void weights_of(Reader *r, Scope *s, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_initializer; i++) {
        const Onnx__TensorProto *t = g->initializer[i];
        const char *name = t->name ? t->name : "";
        Value *v = read_tensor(r, t, prefixed(r, s, name));
        if (!v)
            v = value_new(r->c, name);
        else
            r->c->floats[v->type] += 2;
        bind(r, s, name, v, NULL);
    }
    if (g->n_sparse_initializer)
        import_error(r->c, NULL, "sparse initializers are not supported");
}

static Scope inner_scope(Reader *r, const Scope *up, const Node *n)
{
    Scope s = *up;

    s.up = up;
    s.value = map_new(r->c->arena);
    s.depth = up->depth + 1;
    s.prefix = arena_printf(r->c->arena, "%s/", n->name);
    if (s.depth > MAX_CALLS) {
        import_error(r->c, n, "bodies are nested more than %d deep", MAX_CALLS);
        r->c->fatal = true;
    }
    return s;
}

static Value *result_of(Reader *r, const Scope *s, const Node *n,
                        const char *name)
{
    Value *v = name ? scope_find(s, name) : NULL;

    if (!v)
        import_error(r->c, n, "its body does not define '%s'",
                     name ? name : "");
    return v ? v : value_new(r->c, NULL);
}

static void bind_outputs(Reader *r, Scope *s, const Onnx__NodeProto *p,
                         const Node *n, Value **v, int count)
{
    for (size_t i = 0; i < p->n_output; i++)
        if (p->output[i] && *p->output[i])
            bind(r, s, p->output[i],
                 (int)i < count ? v[i] : value_new(r->c, p->output[i]), n);
}

static void read_call(Reader *r, Scope *s, const Onnx__NodeProto *p, Node *n,
                      const Onnx__FunctionProto *f)
{
    Import *c = r->c;
    Scope in = inner_scope(r, s, n);

    in.up = NULL;
    in.call = n;
    in.opset = f->opset_import;
    in.n_opset = f->n_opset_import;
    for (size_t i = 0; i < f->n_attribute_proto; i++) {
        const Onnx__AttributeProto *a = f->attribute_proto[i];
        Onnx__AttributeProto *one[] = {(Onnx__AttributeProto *)a};
        Onnx__NodeProto holder = {.n_attribute = 1, .attribute = one};
        Node only = {0};
        if (!a->name || attr_find(n, a->name))
            continue;
        read_attributes(r, s, &holder, &only);
        NodeAttr *all = arena_array(c->arena, NodeAttr, n->n_attr + 2);
        memcpy(all, n->attr, sizeof *all * (size_t)n->n_attr);
        if (only.n_attr)
            all[n->n_attr++] = only.attr[0];
        n->attr = all;
    }
    for (size_t i = 0; i < f->n_input; i++) {
        Value *v = (int)i < n->n_in ? n->in[i] : NULL;
        if (v && f->input[i])
            map_put(in.value, f->input[i], v);
    }
    if (!c->fatal)
        read_nodes(r, &in, f->node, f->n_node);
    Value **out = arena_array(c->arena, Value *, f->n_output + 1);
    for (size_t i = 0; i < f->n_output && !c->fatal; i++)
        out[i] = result_of(r, &in, n, f->output[i]);
    bind_outputs(r, s, p, n, out, c->fatal ? 0 : (int)f->n_output);
}

/* A body's outputs, after its weights and nodes. */
static Value **read_body(Reader *r, Scope *in, const Node *n,
                         const Onnx__GraphProto *g)
{
    Value **out = arena_array(r->c->arena, Value *, g->n_output + 1);

    weights_of(r, in, g);
    if (!r->c->fatal)
        read_nodes(r, in, g->node, g->n_node);
    for (size_t i = 0; i < g->n_output; i++)
        out[i] = result_of(r, in, n, g->output[i]->name);
    return out;
}

static void read_if(Reader *r, Scope *s, const Onnx__NodeProto *p, Node *n)
{
    double yes = 0;
    const Onnx__GraphProto *then = graph_of(p, "then_branch");
    const Onnx__GraphProto *other = graph_of(p, "else_branch");
    bool known = then && other && in_scalar(n, 0, &yes) &&
                 node_in(n, 0)->shape.rank >= 0;
    const Onnx__GraphProto *g = yes != 0 ? then : other;

    if (!known) {
        if (!node_in(n, 0) || node_in(n, 0)->shape.rank >= 0)
            import_error(r->c, n, "its condition must be a constant");
        bind_outputs(r, s, p, n, NULL, 0);
        return;
    }
    Scope in = inner_scope(r, s, n);
    if (r->c->fatal)
        return;
    bind_outputs(r, s, p, n, read_body(r, &in, n, g), (int)g->n_output);
}

/* One value for each trip, stacked along a new first dimension. */
static Value *stacked(Reader *r, const Node *loop, Value **v, int count)
{
    Import *c = r->c;
    int64_t zero = 0;
    Node *all = node_new(c, "Concat", loop->name, count, 1);

    all->domain = "";
    all->version = 13;
    attr_add_int(c, all, "axis", 0);
    for (int i = 0; i < count; i++) {
        Node *n = node_new(c, "Unsqueeze", loop->name, 2, 1);
        n->domain = "";
        n->version = 13;
        n->in[0] = v[i];
        n->in[1] = value_ints(c, &zero, 1);
        n->out[0] = all->in[i] = value_new(c, NULL);
        n->out[0]->def = n;
        infer(c, n);
    }
    all->out[0] = value_new(c, NULL);
    all->out[0]->def = all;
    if (count)
        infer(c, all);
    return all->out[0];
}

typedef struct LoopRun {
    Value **carried;
    int n_carried;
    Value ***scanned;
    int n_scanned; /* [scan output][trip] */
    int trips;
} LoopRun;

static void loop_trip(Reader *r, Scope *s, const Node *n,
                      const Onnx__GraphProto *g, LoopRun *l, bool *more)
{
    Import *c = r->c;
    Scope in = inner_scope(r, s, n);
    double yes = 1;

    in.prefix = arena_printf(c->arena, "%s/%d/", n->name, l->trips);
    for (size_t i = 0; i < g->n_input; i++) {
        Value *v = i == 0   ? value_scalar(c, OT_INT64, l->trips)
                   : i == 1 ? value_scalar(c, OT_BOOL, 1)
                            : l->carried[i - 2];
        bind(r, &in, g->input[i]->name ? g->input[i]->name : "", v, n);
    }
    Value **out = read_body(r, &in, n, g);
    if (!value_scalar_is(out[0], &yes)) {
        import_error(c, n, "its condition must be a constant");
        *more = false;
    }
    for (int i = 0; i < l->n_carried; i++)
        l->carried[i] = out[1 + i];
    for (int i = 0; i < l->n_scanned; i++)
        l->scanned[i][l->trips] = out[1 + l->n_carried + i];
    l->trips++;
    *more = *more && yes != 0;
}

static void read_loop(Reader *r, Scope *s, const Onnx__NodeProto *p, Node *n)
{
    Import *c = r->c;
    const Onnx__GraphProto *g = graph_of(p, "body");
    double most = 0, first = 1;
    LoopRun l = {.n_carried = n->n_in > 2 ? n->n_in - 2 : 0};

    bool ok = g && in_scalar(n, 0, &most) && most >= 0 &&
              (!node_in(n, 1) || in_scalar(n, 1, &first)) &&
              (int)g->n_input == 2 + l.n_carried &&
              (int)g->n_output >= 1 + l.n_carried;
    if (!ok || most > MAX_TRIPS) {
        import_error(c, n,
                     "the number of its trips must be a constant, of "
                     "at most %d",
                     MAX_TRIPS);
        bind_outputs(r, s, p, n, NULL, 0);
        return;
    }
    l.n_scanned = (int)g->n_output - 1 - l.n_carried;
    l.carried = arena_array(c->arena, Value *, l.n_carried + 1);
    for (int i = 0; i < l.n_carried; i++)
        l.carried[i] = n->in[2 + i];
    l.scanned = arena_array(c->arena, Value **, l.n_scanned + 1);
    for (int i = 0; i < l.n_scanned; i++)
        l.scanned[i] = arena_array(c->arena, Value *, (int)most + 1);
    for (bool more = first != 0;
         more && l.trips < (int)most && !c->fatal && !c->errors;)
        loop_trip(r, s, n, g, &l, &more);
    Value **out = arena_array(c->arena, Value *, l.n_carried + l.n_scanned + 1);
    for (int i = 0; i < l.n_carried; i++)
        out[i] = l.carried[i];
    for (int i = 0; i < l.n_scanned; i++)
        out[l.n_carried + i] = stacked(r, n, l.scanned[i], l.trips);
    bind_outputs(r, s, p, n, out, l.n_carried + l.n_scanned);
}

/* ---- nodes -------------------------------------------------------------- */

/* "['', 'encoder', 'encoder.0', 'linear']": the module before the last. */
static const char *scope_of(Arena *a, const Onnx__NodeProto *p)
{
    const char *text = NULL, *at = NULL, *before = NULL;

    for (size_t i = 0; i < p->n_metadata_props && !text; i++) {
        const Onnx__StringStringEntryProto *e = p->metadata_props[i];
        if (e->key && !strcmp(e->key, "pkg.torch.onnx.name_scopes"))
            text = e->value;
    }
    for (const char *q = text; q && (q = strchr(q, '\'')); q++) {
        const char *end = strchr(q + 1, '\'');
        if (!end)
            break;
        before = at, at = q + 1, q = end;
    }
    const char *end = before ? strchr(before, '\'') : NULL;
    return end && end > before
               ? arena_strndup(a, before, (size_t)(end - before)) : NULL;
}

static void read_node(Reader *r, Scope *s, const Onnx__NodeProto *p)
{
    Import *c = r->c;
    Node *n = arena_new_of(c->arena, Node);

    n->op = p->op_type ? p->op_type : "";
    if (!*n->op) {
        import_error(c, NULL, "a node names no operator");
        c->fatal = true;
        return;
    }
    n->domain = p->domain && !standard(p->domain) ? p->domain : "";
    n->version = version_of(s, n->domain);
    const char *name = p->name && *p->name           ? p->name
                       : p->n_output && p->output[0] ? p->output[0]
                                                     : n->op;
    n->name = prefixed(r, s, name);
    n->scope = scope_of(c->arena, p);
    n->in = operands(r, s, p, n);
    n->n_in = (int)p->n_input;
    read_attributes(r, s, p, n);
    const Onnx__FunctionProto *f =
        map_get(r->function, arena_printf(c->arena, "%s:%s", n->domain, n->op));
    if (f) {
        read_call(r, s, p, n, f);
    } else if (!*n->domain && !strcmp(n->op, "If")) {
        read_if(r, s, p, n);
    } else if (!*n->domain && !strcmp(n->op, "Loop")) {
        read_loop(r, s, p, n);
    } else {
        make_outputs(r, s, p, n);
        infer(c, n);
    }
}

static void read_nodes(Reader *r, Scope *s, Onnx__NodeProto **node, size_t n)
{
    for (size_t i = 0; i < n && !r->c->fatal; i++)
        read_node(r, s, node[i]);
}

/* ---- the model ---------------------------------------------------------- */

static void read_functions(Reader *r)
{
    Import *c = r->c;

    r->function = map_new(c->arena);
    for (size_t i = 0; i < r->model->n_functions; i++) {
        const Onnx__FunctionProto *f = r->model->functions[i];
        const char *d = f->domain && !standard(f->domain) ? f->domain : "";
        map_put(r->function,
                arena_printf(c->arena, "%s:%s", d, f->name ? f->name : ""),
                (void *)f);
    }
}

/* An output by a name of its own. */
static Value *renamed(Reader *r, Value *v, const char *name)
{
    Import *c = r->c;
    Node *n = node_new(c, "Identity", name, 1, 1);
    bool named;

    n->domain = "";
    n->version = 13;
    n->info = op_find("", n->op, 13, &named);
    n->in[0] = v;
    n->out[0] = value_new(c, arena_strdup(c->arena, name));
    n->out[0]->def = n;
    infer(c, n);
    return n->out[0];
}

static void read_outputs(Reader *r, Scope *s, const Onnx__GraphProto *g)
{
    Import *c = r->c;

    for (size_t i = 0; i < g->n_output; i++) {
        const char *name = g->output[i]->name ? g->output[i]->name : "";
        Value *v = scope_find(s, name);
        if (!v) {
            import_error(c, NULL, "output '%s' is not defined", name);
            continue;
        }
        if (v->is_output || v->is_input || v->is_weight ||
            strcmp(v->name, name))
            v = renamed(r, v, name);
        if (v->shape.rank > 0 && !shape_count(&v->shape)) {
            import_note(c, "output '%s' has no elements and is left out",
                        name);
            continue;
        }
        v->is_output = true;
        VEC_PUSH(c->arena, c->output, c->n_output, c->cap_output) = v;
    }
    for (int i = 0; i < c->n_output; i++)
        if (c->output[i]->shape.rank < 0)
            import_error(c, NULL, "output '%s' could not be worked out",
                         c->output[i]->name);
    if (!c->n_output && !c->errors)
        import_error(c, NULL, g->n_output ? "all of its outputs are empty"
                                          : "the graph has no output");
}

static void read_graph(Reader *r)
{
    const Onnx__GraphProto *g = r->model->graph;
    Scope s = {.value = map_new(r->c->arena),
               .prefix = "",
               .opset = r->model->opset_import,
               .n_opset = r->model->n_opset_import};

    weights_of(r, &s, g);
    for (size_t i = 0; i < g->n_input; i++) {
        const char *name = g->input[i]->name ? g->input[i]->name : "";
        if (!map_get(s.value, name))
            read_input(r, g->input[i], &s);
        /* elsewhere: a weight that older files name as an input too */
    }
    if (r->c->errors)
        return;
    read_functions(r);
    read_nodes(r, &s, g->node, g->n_node);
    if (!r->c->fatal && !r->c->errors)
        read_outputs(r, &s, g);
}

/* The type that most weights have; float64 counts as float32. */
static OnnxType usual_float(const Import *c)
{
    int f32 = c->floats[OT_FLOAT] + c->floats[OT_DOUBLE];
    OnnxType best = OT_FLOAT;

    if (c->floats[OT_FLOAT16] > f32)
        best = OT_FLOAT16;
    if (c->floats[OT_BFLOAT16] > f32 &&
        c->floats[OT_BFLOAT16] > c->floats[OT_FLOAT16])
        best = OT_BFLOAT16;
    return best;
}

static void read_model(Reader *r)
{
    Import *c = r->c;

    if (!r->model->graph) {
        import_error(c, NULL, "the model has no graph");
        return;
    }
    read_graph(r);
    c->float_type = usual_float(c);
}

static const char *folder_of(Arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');

    return !slash          ? "."
           : slash == path ? "/"
                           : arena_strndup(a, path, (size_t)(slash - path));
}

/* A model's first bytes are no text: tags and lengths. */
static bool is_text(const unsigned char *p, size_t n)
{
    enum { LOOKED_AT = 64 };

    for (size_t i = 0; i < n && i < LOOKED_AT; i++)
        if (p[i] < ' ' && p[i] != '\t' && p[i] != '\r' && p[i] != '\n')
            return false;
    return n > 0;
}

/* A message lives as long as all else. */
static void *message_memory(void *arena, size_t n)
{
    return arena_alloc(arena, n);
}

static void no_release(void *arena, void *p)
{
    (void)arena;
    (void)p;
}

bool import_read_bytes(Import *c, const unsigned char *p, size_t n)
{
    Scan scan = {.arena = c->arena, .bytes_message = "TensorProto",
                 .bytes_field = "raw_data"};

    if (!scan_message(&scan, p, n, &onnx__model_proto__descriptor)) {
        if (is_text(p, n))
            import_error(c, NULL, "this is no ONNX model: it is text");
        else
            import_error(c, NULL, "this is no ONNX model: %s, at byte %zu",
                         scan.error, scan.at);
        buf_free(&scan.out);
        return false;
    }
    ProtobufCAllocator memory = {message_memory, no_release, c->arena};
    Onnx__ModelProto *m = onnx__model_proto__unpack(
        &memory, scan.out.len, (const uint8_t *)buf_text(&scan.out));
    buf_free(&scan.out);
    if (!m) {
        import_error(c, NULL, "this is no ONNX model");
        return false;
    }
    Reader r = {.c = c, .model = m, .scan = &scan,
                .external = {c->arena, folder_of(c->arena, c->path),
                             map_new(c->arena)}};
    read_model(&r);
    return !c->errors;
}

bool import_read(Import *c)
{
    Mapping file;
    const char *wrong = map_file(c->arena, c->path, true, &file);

    if (!strcmp(c->path, "-"))
        c->path = "<stdin>"; /* in messages, and in the .dcl */
    if (wrong) {
        import_error(c, NULL, "cannot read: %s", wrong);
        return false;
    }
    return import_read_bytes(c, file.data, file.len);
}

bool import_text(Import *c, Buf *text)
{
    import_broadcast(c);
    import_live(c);
    import_patterns(c);
    import_live(c);
    import_rows(c);
    import_views(c);
    import_live(c);
    import_emit(c);
    if (c->errors)
        return false;
    import_blocks(c);
    import_print(c, text);
    return !c->errors;
}
