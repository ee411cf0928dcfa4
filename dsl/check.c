#include "check.h"

static void check_body(Check *c, Body *b);

/* ---- what a definition may define */

static bool may_define(Check *c, const AstStmt *s, Sym *old)
{
    const char *name = s->name.text;

    if (!old || old->defined == DEFINED_NO)
        return true;
    if (old->kind == SYM_LIST || old->kind < SYM_STATE)
        diag_error(c->diag, s->name.at, "'%s' is %s and cannot be defined "
                   "again", name, sym_words(old));
    else if (old->output)
        diag_error(c->diag, s->name.at,
                   "'%s' is an output and cannot be defined again", name);
    else if (old->unread && old->defined == DEFINED_YES)
        diag_error(c->diag, s->name.at,
                   "'%s' is defined again before its value is read", name);
    else
        return true;
    diag_note(c->diag, old->at, "'%s' is declared here", name);
    if (old->kind == SYM_PARAM && c->item->kind == ITEM_MODEL)
        diag_note(c->diag, s->name.at, "a parameter is trained in a loop over "
                  "parameters: for v in params { v = ..; }");
    old->blamed = true;
    return false;
}

/* A rank-0 or whole definition stands bare, as sizes do. */
static bool hides_value(Check *c, const AstStmt *s)
{
    Sym *v = s->def.indexed && s->def.left.n
                 ? NULL : scope_find(c, SPACE_VALUE, s->name.text);

    if (!v || v->defined != DEFINED_YES)
        return false;
    diag_error(c->diag, s->name.at, "'%s' is %s and cannot be defined again",
               s->name.text, sym_words(v));
    diag_note(c->diag, v->at, "'%s' is declared here", s->name.text);
    return true;
}

/* ---- the left side */

/* What a plain name on the left is: a value where it is a loop variable or an
 * attribute, or data where there is something to write into; else an index. */
static void check_left_name(Check *c, const Arg *x, bool exists, bool state)
{
    Name n = x->value->name;
    Sym *v = scope_find(c, SPACE_VALUE, n.text);
    Sym *t = scope_find(c, SPACE_TENSOR, n.text);

    if ((v && (state || v->kind != SYM_SIZE)) ||
        scope_bound(c, n.text, false)) /* a diagonal */
        return;
    if (!v && t && t->rank == 0 && sym_is_tensor(t)) {
        scope_read(t);
        if (exists)
            return;
    }
    scope_bind_index(c, n);
}

static void bind_inner(Check *c, const AstExpr *e);

static void bind_inner_args(Check *c, const Args *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->arg[i].value)
            bind_inner(c, a->arg[i].value);
}

/* Names within an expression on the left that mean nothing yet are indices. */
static void bind_inner(Check *c, const AstExpr *e)
{
    switch (e->kind) {
    case EXPR_NAME:
        if (!scope_bound(c, e->name.text, false) &&
            !scope_find(c, SPACE_VALUE, e->name.text) &&
            !scope_find(c, SPACE_TENSOR, e->name.text))
            scope_bind_index(c, e->name);
        break;
    case EXPR_READ: bind_inner_args(c, &e->read.at); break;
    case EXPR_CALL: bind_inner_args(c, &e->call.args); break;
    case EXPR_CAST: bind_inner(c, e->cast.value); break;
    case EXPR_UNARY: bind_inner(c, e->unary.value); break;
    case EXPR_BINARY:
        bind_inner(c, e->binary.left);
        bind_inner(c, e->binary.right);
        break;
    case EXPR_SELECT:
        bind_inner(c, e->select.cond);
        bind_inner(c, e->select.yes);
        bind_inner(c, e->select.no);
        break;
    case EXPR_NUMBER:
    case EXPR_STRING:
    case EXPR_REDUCE:
    case EXPR_LIST: break;
    }
}

static bool is_inner(const Arg *x)
{
    return x->kind == ARG_VALUE && x->value->kind != EXPR_NAME;
}

static void check_left(Check *c, AstStmt *s, bool exists, bool state)
{
    Args *left = &s->def.left;

    for (int i = 0; i < left->n; i++) {
        Arg *x = &left->arg[i];
        check_range(c, &x->range);
        if (x->kind == ARG_PACK)
            scope_bind_pack(c, x->name);
        else if (x->kind == ARG_INDEX)
            scope_bind_index(c, x->name);
        else if (x->value->kind == EXPR_NAME)
            check_left_name(c, x, exists, state);
    }
    for (int i = 0; i < left->n; i++)
        if (is_inner(&left->arg[i]))
            bind_inner(c, left->arg[i].value);
    for (int i = 0; i < left->n; i++)
        if (is_inner(&left->arg[i]))
            check_expr(c, left->arg[i].value, MODE_INDEXED);
}

/* May the definition leave a rest to others, or as it was? */
static bool is_partial(Check *c, const AstStmt *s)
{
    for (int i = 0; i < s->def.left.n; i++) {
        const Arg *x = &s->def.left.arg[i];
        bool twice = false;
        if (x->kind == ARG_INDEX || is_inner(x) ||
            (x->kind == ARG_VALUE &&
             !scope_bound(c, x->value->name.text, false)))
            return true;
        for (int j = 0; j < i && x->kind == ARG_VALUE; j++)
            twice |= s->def.left.arg[j].kind == ARG_VALUE &&
                     !strcmp(s->def.left.arg[j].value->name.text,
                             x->value->name.text);
        if (twice)
            return true;
    }
    return s->def.add;
}

static int left_rank(const Args *left)
{
    for (int i = 0; i < left->n; i++)
        if (left->arg[i].kind == ARG_PACK)
            return RANK_PACKS;
    return left->n;
}

static int def_rank(const AstStmt *s)
{
    if (s->def.indexed)
        return left_rank(&s->def.left);
    return s->type && s->type->shaped ? type_rank(s->type) : RANK_UNKNOWN;
}

/* The left side against a shape that is declared: by the definition, by the
 * state, or by the op for its result. */
static void check_left_rank(Check *c, const AstStmt *s, int rank, Span declared)
{
    int left = def_rank(s);

    if (rank < 0 || left < 0 || rank == left)
        return;
    diag_error(c->diag, s->name.at, "'%s' has %d dimension%s, its definition "
               "%d", s->name.text, rank, rank == 1 ? "" : "s", left);
    if (declared.source)
        diag_note(c->diag, declared, "declared here");
}

static void check_def_type(Check *c, const AstStmt *s, const Sym *state)
{
    const Item *it = c->item;

    if (s->type) {
        check_type(c, s->type);
        if (s->type->shaped)
            check_left_rank(c, s, type_rank(s->type), s->type->at);
    }
    if (state)
        check_left_rank(c, s, state->rank, state->at);
    else if (it->kind != ITEM_MODEL && it->result_type &&
             !strcmp(it->result.text, s->name.text))
        check_left_rank(c, s, type_rank(it->result_type),
                        it->result_type->at);
}

/* ---- notes */

static void check_note(Check *c, AstStmt *s, Note *n)
{
    static const char *const names[] = {"nofuse", "fuse", "tile"};
    int kind = 0;

    while (kind < 3 && strcmp(names[kind], n->name.text))
        kind++;
    if (kind == 3) {
        diag_error(c->diag, n->name.at, "undefined note '@%s'%s", n->name.text,
                   scope_hint(c, n->name.text, names, 3));
        return;
    }
    n->kind = (NoteKind)kind;
    if (n->kind == AST_NOTE_TILE)
        diag_error(c->diag, n->name.at, "'@tile' is not supported yet: "
                   "--variant=KERNEL=TEXT forces a kernel's tiles");
    if (s->kind != STMT_DEF)
        diag_error(c->diag, n->name.at,
                   "a note stands only before a definition");
    if (n->kind == AST_NOTE_NOFUSE ? n->args.n > 0 : n->args.n == 0)
        diag_error(c->diag, n->name.at,
                   n->kind == AST_NOTE_NOFUSE ? "@nofuse takes no arguments"
                                              : "@%s needs arguments",
                   n->name.text);
    for (int i = 0; i < n->args.n; i++) {
        Arg *x = &n->args.arg[i];
        if (n->kind == AST_NOTE_TILE)
            check_expr(c, x->value, MODE_CONST);
        else if (n->kind == AST_NOTE_FUSE &&
                 (x->kind != ARG_VALUE || x->value->kind != EXPR_NAME))
            diag_error(c->diag, x->at, "@fuse takes names of tensors");
        else if (n->kind == AST_NOTE_FUSE &&
                 !scope_find(c, SPACE_TENSOR, x->value->name.text))
            scope_unknown(c, x->value->name, "undefined tensor",
                          1 << SPACE_TENSOR, false);
    }
}

/* ---- statements */

static void check_definition(Check *c, AstStmt *s)
{
    Sym *old = scope_find(c, SPACE_TENSOR, s->name.text);
    bool state = old && (old->kind == SYM_STATE || old->kind == SYM_TRAINED);

    if (s->def.indexed) {
        check_left(c, s, old != NULL, state);
        if (s->def.add && !old)
            diag_error(c->diag, s->name.at, "'%s' has no value yet to add to; "
                       "'%s : f32[N] = 0;' would give it one", s->name.text,
                       s->name.text);
        check_expr(c, s->def.value, MODE_INDEXED);
        if (old && is_partial(c, s) && old->kind == SYM_TENSOR && !old->output)
            scope_read(old);
    } else {
        check_expr(c, s->def.value, MODE_WHOLE);
    }
    c->n_bound = 0;
    old = scope_find(c, SPACE_TENSOR, s->name.text);
    check_def_type(c, s, state ? old : NULL);
    bool fine = !hides_value(c, s) && may_define(c, s, old);
    if (s->def.output && c->item->kind != ITEM_MODEL)
        diag_error(c->diag, s->at, "an output stands only in a model");
    if (state && s->def.output)
        diag_error(c->diag, s->at, "%s '%s' cannot be an output: define an "
                   "output from it", old->kind == SYM_STATE ? "state"
                   : "parameter", s->name.text);
    if (state || (old && !fine))
        return;
    Sym *sym = scope_add(c, SYM_TENSOR, s->name);
    sym->rank = def_rank(s);
    sym->unread = true;
    sym->output = s->def.output;
    c->outputs += s->def.output;
}

static void check_output(Check *c, const AstStmt *s)
{
    Sym *sym = scope_find(c, SPACE_TENSOR, s->name.text);

    c->outputs++;
    if (c->item->kind != ITEM_MODEL) {
        diag_error(c->diag, s->at, "an output stands only in a model");
    } else if (!sym) {
        scope_unknown(c, s->name, "undefined tensor", 1 << SPACE_TENSOR,
                      false);
    } else if (sym->output) {
        diag_error(c->diag, s->name.at, "'%s' is already an output",
                   s->name.text);
        diag_note(c->diag, sym->at, "'%s' is declared here", s->name.text);
    } else if (sym->kind != SYM_TENSOR && sym->blamed) {
        return; /* its own definition was refused */
    } else if (sym->kind != SYM_TENSOR) {
        diag_error(c->diag, s->name.at, "'%s' is %s: an output needs a "
                   "definition of its own", s->name.text, sym_words(sym));
    } else {
        sym->output = true;
        scope_read(sym);
    }
}

static void check_start_args(Check *c, const AstExpr *e, const Starter *st)
{
    const Args *args = &e->call.args;
    bool given[2] = {false, false};

    if (e->call.index || e->call.has_as)
        diag_error(c->diag, e->at, "initialiser '%s' has no path: no index and "
                   "no 'as'", st->name);
    for (int i = 0; i < args->n; i++) {
        const Arg *x = &args->arg[i];
        int k = i;
        if (x->kind == ARG_NAMED)
            for (k = 0; k < st->n_args && strcmp(st->arg[k].name,
                                                 x->name.text); k++)
                ;
        check_expr(c, x->value, MODE_CONST);
        if (k >= st->n_args)
            diag_error(c->diag, x->at, x->kind == ARG_NAMED
                       ? "initialiser '%s' has no argument of that name"
                       : "initialiser '%s' takes no such argument", st->name);
        else if (given[k])
            diag_error(c->diag, x->at, "'%s' is given twice", st->arg[k].name);
        else
            given[k] = true;
    }
    for (int k = 0; k < st->n_required; k++)
        if (!given[k])
            diag_error(c->diag, e->at, "initialiser '%s' needs '%s'", st->name,
                       st->arg[k].name);
}

static void undefined_start(Check *c, Name n)
{
    static const char *const names[] = {"zeros", "ones", "normal", "uniform",
                                        "kaiming", "kaiming_uniform", "xavier",
                                        "xavier_uniform"};
    const char *hint = scope_hint(c, n.text, names,
                                  (int)(sizeof names / sizeof *names));

    diag_error(c->diag, n.at, "undefined initialiser '%s'%s", n.text,
               *hint ? hint : "; there are zeros, ones, normal, uniform, "
                              "kaiming, kaiming_uniform, xavier and "
                              "xavier_uniform");
}

/* What a parameter begins as. */
static void check_start(Check *c, AstExpr *e)
{
    bool call = e && e->kind == EXPR_CALL;
    Name n = call ? e->call.name
             : e && e->kind == EXPR_NAME ? e->name : (Name){0};
    const Starter *st = n.text ? dsl_find_starter(n.text) : NULL;

    if (!e)
        return;
    if (st && call)
        check_start_args(c, e, st);
    else if (st && st->n_required)
        diag_error(c->diag, e->at, "initialiser '%s' needs '%s': %s(..)",
                   st->name, st->arg[0].name, st->name);
    else if (!st && call && !dsl_find_function(n.text))
        undefined_start(c, n);
    else if (!st && e->kind == EXPR_STRING)
        diag_error(c->diag, e->at, "a parameter begins as a number or by an "
                   "initialiser");
    else if (!st)
        check_expr(c, e, MODE_CONST);
}

/* input, param, state: from outside of the run. */
static void check_outer(Check *c, AstStmt *s)
{
    bool input = s->kind == STMT_INPUT;
    const char *what = input ? "an input"
                       : s->kind == STMT_PARAM ? "a parameter" : "a state";
    SymKind kind = input ? SYM_INPUT
                   : s->kind == STMT_PARAM ? SYM_PARAM : SYM_STATE;

    if (c->item->kind == ITEM_OP || (input && c->item->kind != ITEM_MODEL))
        diag_error(c->diag, s->at, "%s stands only in a model%s", what,
                   input ? "" : " or a block");
    else if (c->loop)
        diag_error(c->diag, s->at, "%s cannot be declared in a loop, where it "
                   "would be declared again%s", what,
                   input ? "" : ": put it into a block that the loop calls");
    check_type(c, s->type);
    if (input) {
        check_range(c, &s->input);
        if (s->input.from && s->type->elem < ELEM_I8)
            diag_error(c->diag, s->input.from->at,
                       "only an integer input has a range");
    } else if (s->kind == STMT_PARAM || s->param.has_path) {
        check_string(c, &s->param.path);
        check_start(c, s->param.start);
    } else if (s->param.start) {
        check_expr(c, s->param.start, MODE_CONST);
    }
    scope_declare(c, kind, s->name, type_rank(s->type));
}

static bool is_list(Check *c, const AstExpr *e)
{
    const Sym *s = e->kind == EXPR_NAME
                       ? scope_find(c, SPACE_TENSOR, e->name.text) : NULL;

    return e->kind == EXPR_LIST || (s && s->kind == SYM_LIST);
}

static void check_dim(Check *c, AstStmt *s)
{
    for (int i = 0; i < s->dim.choices.n; i++)
        check_expr(c, s->dim.choices.arg[i].value, MODE_CONST);
    bool list = s->dim.value && is_list(c, s->dim.value);
    for (int i = 0; list && i < s->dim.value->list.n &&
                    s->dim.value->kind == EXPR_LIST; i++)
        check_expr(c, s->dim.value->list.arg[i].value, MODE_CONST);
    if (s->dim.value && !list)
        check_expr(c, s->dim.value, MODE_CONST);
    scope_declare(c, list ? SYM_LIST : SYM_SIZE, s->name, 0);
}

/* for w in params { } */
static void check_params_loop(Check *c, AstStmt *s)
{
    if (c->item->kind != ITEM_MODEL)
        diag_error(c->diag, s->at, "'for .. in params' stands only in a model");
    if (scope_find(c, SPACE_VALUE, s->name.text))
        diag_error(c->diag, s->name.at, "'%s' is in use", s->name.text);
    scope_declare(c, SYM_TRAINED, s->name, RANK_UNKNOWN);
}

static void check_loop(Check *c, AstStmt *s)
{
    bool outermost = !c->loop;

    if (s->kind == STMT_SCAN)
        diag_error(c->diag, s->at, "'scan' is not supported yet");
    if (s->loop.params) {
        check_params_loop(c, s);
    } else {
        check_range(c, &s->loop.range);
        scope_declare(c, s->kind == STMT_FOR ? SYM_FOR : SYM_SCAN, s->name, 0);
    }
    if (outermost)
        c->loop = s;
    check_body(c, &s->loop.body);
    if (outermost)
        c->loop = NULL;
    Sym *var = scope_find(c, s->loop.params ? SPACE_TENSOR : SPACE_VALUE,
                          s->name.text);
    if (var)
        var->defined = DEFINED_NO;
}

static void check_branch(Check *c, AstStmt *s)
{
    check_expr(c, s->branch.cond, MODE_CONST);
    Snapshot before = scope_save(c);
    check_body(c, &s->branch.yes);
    Snapshot yes = scope_save(c);
    scope_restore(c, before);
    check_body(c, &s->branch.no);
    scope_merge(c, yes);
}

static void check_stmt(Check *c, AstStmt *s)
{
    c->n_bound = 0;
    for (int i = 0; i < s->n_note; i++)
        check_note(c, s, &s->note[i]);
    switch (s->kind) {
    case STMT_DIM:
        check_dim(c, s);
        break;
    case STMT_TYPE:
        check_elem(c, s->type->elem, s->type->name);
        scope_declare(c, SYM_TYPE, s->name, 0);
        break;
    case STMT_INPUT:
    case STMT_PARAM:
    case STMT_STATE:
        check_outer(c, s);
        break;
    case STMT_REQUIRE:
        check_expr(c, s->require, MODE_CONST);
        break;
    case STMT_DEF:
        check_definition(c, s);
        break;
    case STMT_OUTPUT:
        check_output(c, s);
        break;
    case STMT_FOR:
    case STMT_SCAN:
        check_loop(c, s);
        break;
    case STMT_IF:
        check_branch(c, s);
        break;
    }
}

static void check_body(Check *c, Body *b)
{
    for (int i = 0; i < b->n; i++)
        check_stmt(c, b->stmt[i]);
}

/* ---- items */

/* Every tensor that the body defines somewhere, for better messages. */
static void collect(Check *c, const Body *b, const AstStmt *loop)
{
    for (int i = 0; i < b->n; i++) {
        const AstStmt *s = b->stmt[i];
        const AstStmt *outer = loop ? loop : s;
        if (s->kind == STMT_INPUT || s->kind == STMT_PARAM ||
            s->kind == STMT_STATE || s->kind == STMT_DEF)
            VEC_PUSH(c->arena, c->later, c->n_later, c->cap_later) =
                (Later){s->name.text, s->name.at, loop};
        if (s->kind == STMT_FOR || s->kind == STMT_SCAN)
            collect(c, &s->loop.body, outer);
        if (s->kind == STMT_IF) {
            collect(c, &s->branch.yes, loop);
            collect(c, &s->branch.no, loop);
        }
    }
}

static void find_view(Check *c, Item *it)
{
    static const char *const names[] = {"reshape", "transpose", "concat",
                                        "grad", "stop", "random"};

    for (int i = 0; i < 6 && it->library; i++)
        if (!strcmp(it->name.text, names[i]))
            it->view = (ViewKind)(VIEW_RESHAPE + i);
    if (!it->has_body && !it->view)
        diag_error(c->diag, it->name.at, "%s '%s' has no body",
                   item_kind_name(it->kind), it->name.text);
}

static void check_item(Check *c, Item *it)
{
    c->item = it;
    c->unknown = map_new(c->arena);
    c->n_sym = c->n_bound = c->n_pack = c->n_later = c->outputs = 0;
    memset(c->bucket, 0, sizeof c->bucket);
    if (it->kind != ITEM_MODEL)
        check_signature(c, it);
    collect(c, &it->body, NULL);
    check_body(c, &it->body);
    if (it->kind == ITEM_MODEL) {
        if (!c->outputs)
            diag_error(c->diag, it->name.at, "model '%s' has no output",
                       it->name.text);
    } else if (it->has_body && !scope_find(c, SPACE_TENSOR, it->result.text)) {
        diag_error(c->diag, it->result.at, "%s '%s' never defines its result "
                   "'%s'", item_kind_name(it->kind), it->name.text,
                   it->result.text);
    }
}

/* A user's op hides the library's; any other name is there once. */
static void check_globals(Check *c)
{
    Item **item = c->program->item;

    for (int i = 0; i < c->program->n_item; i++)
        for (int j = 0; j < i; j++)
            if (item[i]->library == item[j]->library &&
                !strcmp(item[i]->name.text, item[j]->name.text)) {
                diag_error(c->diag, item[i]->name.at, "'%s' is already %s %s",
                           item[i]->name.text,
                           item[j]->kind == ITEM_OP ? "an" : "a",
                           item_kind_name(item[j]->kind));
                diag_note(c->diag, item[j]->name.at,
                          "'%s' is defined here", item[j]->name.text);
                break;
            }
}

Item *dsl_find_model(const Program *p, const char *name)
{
    for (int i = 0; i < p->n_item; i++)
        if (p->item[i]->kind == ITEM_MODEL &&
            (!name || !strcmp(p->item[i]->name.text, name)))
            return p->item[i];
    return NULL;
}

bool dsl_check(Arena *a, Diag *d, Program *p, bool need_model)
{
    Check *c = arena_new_of(a, Check);
    int before = diag_errors(d);

    *c = (Check){.arena = a, .diag = d, .program = p};
    if (need_model && !dsl_find_model(p, NULL) && p->n_source > 1)
        diag_error(d, (Span){p->source[1], 1, 1, 1},
                   "no model in this program");
    check_globals(c);
    for (int i = 0; i < p->n_item; i++)
        find_view(c, p->item[i]);
    for (int i = 0; i < p->n_item; i++)
        check_item(c, p->item[i]);
    check_cycles(c);
    return diag_errors(d) == before;
}
