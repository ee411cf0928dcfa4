#include "search/merge.h"

#include "group/groups.h"
#include "search/chains.h"
#include "search/plan.h"

/* ---- noting */

/* The statement of gr, or of those computed again in it, that makes t. */
static Stmt *maker(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->tensor == t)
            return gr->stmt[i];
    return gr->stmt[0];
}

void merge_note(Graph *g, Group *gr, MergeKind kind, const Tensor *t,
                Group *const *piece, int n)
{
    Merge *m = arena_new_of(g->arena, Merge);

    m->kind = kind;
    m->piece = arena_array(g->arena, Stmt *, n);
    m->before = arena_array(g->arena, const Merge *, n);
    for (int i = 0; i < n; i++) {
        m->piece[i] = i || !t ? piece[i]->stmt[0] : maker(piece[i], t);
        if (piece[i]->made)
            m->before[m->n_before++] = piece[i]->made;
    }
    m->n_piece = n;
    gr->made = m;
}

/* The statement of the pieces that makes t. */
static const Stmt *maker_of(Group *const *piece, int n, const Tensor *t)
{
    for (int i = 0; i < n; i++) {
        const Stmt *s = maker(piece[i], t);
        if (s->tensor == t)
            return s;
    }
    return piece[0]->stmt[0];
}

void merge_note_chain(Graph *g, Group *gr, const ChainKept *kept,
                      Group *const *piece, int n)
{
    merge_note(g, gr, MERGE_CHAIN, NULL, piece, n);
    Merge *m = (Merge *)gr->made;
    m->kept = arena_array(g->arena, const Stmt *, kept->n + 1);
    for (int i = 0; i < kept->n; i++)
        m->kept[m->n_kept++] = maker_of(piece, n, kept->t[i]);
}

Group *merge_drop_needless(Graph *g, Group *gr, StoreIsRead *needed, void *ctx)
{
    Group *of = gr;

    for (int i = 0; i < gr->n_step; i++) {
        Tensor *t = gr->step[i].tensor;
        if (!t || needed(t, ctx) || group_reads(gr, t))
            continue;
        if (gr == of)
            gr = group_copy(g, of);
        merge_note(g, gr, MERGE_DROP, t, &gr, 1);
        gr->step[i].tensor = NULL;
    }
    return gr;
}

typedef struct Two {
    const Units *u;
    int p, c;
} Two;

static bool need_besides(const Tensor *t, void *ctx)
{
    const Two *x = ctx;

    return units_need(x->u, t, x->p, x->c);
}

Group *merge_drop_stores(const Units *u, Group *gr, int p, int c)
{
    return merge_drop_needless(u->g, gr, need_besides, &(Two){u, p, c});
}

/* ---- as words */

typedef struct Printed {
    Buf *b;
    const Graph *g;
    const Merge **seen; int n, cap;
} Printed;

static void print(Printed *p, const Merge *m)
{
    static const char *const sign[] = {[MERGE_POINT] = ">", [MERGE_KEEP] = ">>",
                                       [MERGE_AGAIN] = "*", [MERGE_CHAIN] = "&",
                                       [MERGE_DROP] = ""};

    for (int i = 0; i < p->n; i++)
        if (p->seen[i] == m)
            return;
    VEC_PUSH(p->g->arena, p->seen, p->n, p->cap) = m;
    for (int i = 0; i < m->n_before; i++)
        print(p, m->before[i]);
    buf_puts(p->b, m->kind == MERGE_DROP ? " !" : " ");
    for (int i = 0; i < m->n_piece; i++)
        buf_printf(p->b, "%s%s", i ? sign[m->kind] : "",
                   stmt_key(p->g, m->piece[i]));
    for (int i = 0; i < m->n_kept; i++)
        buf_printf(p->b, "<%s", stmt_key(p->g, m->kept[i]));
}

void merge_print(Buf *b, const Graph *g, const Merge *m)
{
    print(&(Printed){.b = b, .g = g}, m);
}

/* ---- again from words */

typedef struct Piece {
    Group *alone; /* the statement's own group */
    Group *group; /* what it has become */
    int of;       /* the piece that it is part of, or itself */
    bool made;    /* it is part of a finished group */
} Piece;

struct Replay {
    Units *u;
    const Map *stmt_of;
    int *place;   /* by statement id: its position, which is its unit */
    Piece *piece; /* by unit */
    const char *why;
};

Replay *merge_replay_open(Units *u, const Map *stmt_of)
{
    Replay *r = arena_new_of(u->g->arena, Replay);

    *r = (Replay){.u = u, .stmt_of = stmt_of};
    r->place = arena_array(u->g->arena, int, u->g->n_made + 1);
    r->piece = arena_array(u->g->arena, Piece, u->n + 1);
    for (int i = 0; i < u->n; i++) {
        Group *gr = u->unit[i].group;
        r->place[u->g->stmt[i]->id] = i;
        r->piece[i] = (Piece){.alone = gr, .group = gr, .of = i};
    }
    return r;
}

static bool refuse(Replay *r, const char *why)
{
    if (!r->why)
        r->why = why ? why : "nothing can be made of these";
    return false;
}

static MergeKind kind_of(const char *sign)
{
    return *sign == '*'    ? MERGE_AGAIN
           : *sign == '&'  ? MERGE_CHAIN
           : sign[1] == '>' ? MERGE_KEEP
                            : MERGE_POINT;
}

/* What a word says. */
typedef struct Word {
    MergeKind kind;
    int unit[CHAIN_MOST], n; /* the pieces' */
    Stmt *first;             /* the statement that it begins with */
    ChainKept kept;
} Word;

static Stmt *stmt_at(const Replay *r, const char *at, size_t len)
{
    return map_get(r->stmt_of, arena_strndup(r->u->g->arena, at, len));
}

/* What a chain keeps: the rest of its word. */
static bool read_kept(const Replay *r, const char *rest, Word *w)
{
    while (*rest) {
        size_t len = strcspn(++rest, "<");
        const Stmt *s = stmt_at(r, rest, len);
        if (!s || !chain_keep(&w->kept, s->tensor))
            return false;
        rest += len;
    }
    return true;
}

/* False: it says nothing. */
static bool read_word(const Replay *r, const char *word, Word *w)
{
    bool drop = *word == '!';

    *w = (Word){.kind = MERGE_DROP};
    for (word += drop; w->n < CHAIN_MOST;) {
        size_t len = strcspn(word, ">*&!<");
        Stmt *s = stmt_at(r, word, len);
        if (!s)
            return false;
        w->first = w->n ? w->first : s;
        w->unit[w->n++] = r->piece[r->place[s->id]].of;
        word += len;
        if (*word == '<')
            return w->n > 1 && w->kind == MERGE_CHAIN && read_kept(r, word, w);
        if (!*word)
            return drop == (w->n == 1);
        if (drop || *word == '!')
            return false;
        if (w->n > 1 && kind_of(word) != w->kind)
            return false;
        w->kind = kind_of(word);
        word += 1 + (w->kind == MERGE_KEEP);
    }
    return false;
}

static bool stores(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return true;
    return false;
}

static bool drop_store(Replay *r, Group **of, const Tensor *t)
{
    Group *gr = *of;

    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t && !group_reads(gr, t)) {
            *of = group_copy(r->u->g, gr);
            (*of)->step[i].tensor = NULL;
            merge_note(r->u->g, *of, MERGE_DROP, t, &gr, 1);
            return true;
        }
    return refuse(r, "it does not store that");
}

static Group *merged(Replay *r, const Word *w, Group **piece)
{
    Graph *g = r->u->g;
    Tensor *t = w->first->tensor;

    if (w->kind == MERGE_CHAIN)
        return chain_form(g, piece, w->n, &w->kept, &r->why);
    if (w->n != 2 || !stores(piece[0], t) || !group_reads(piece[1], t))
        return NULL;
    if (w->kind == MERGE_AGAIN)
        return fuse_inline(g, piece[0], piece[1], t, &r->why);
    return fuse(g, piece[0], piece[1], t, w->kind == MERGE_KEEP, &r->why);
}

/* The pieces of list[] are different ones that may be merged. */
static bool find_pieces(Replay *r, const int *list, int n, Group **piece)
{
    for (int i = 0; i < n; i++) {
        piece[i] = r->piece[list[i]].group;
        if (r->piece[list[i]].made)
            return refuse(r, "a statement stands in two groups");
        for (int k = 0; k < i; k++)
            if (list[i] == list[k])
                return refuse(r, "these are one already");
        for (int k = 0; k < piece[i]->n_stmt && n > 1; k++)
            if (piece[i]->stmt[k]->notes & NOTE_NOFUSE)
                return refuse(r, "@nofuse");
    }
    return true;
}

/* The group that the pieces are now, and how that came about. */
static void note(Replay *r, const Word *w, Group *gr, Group **piece)
{
    if (w->kind != MERGE_CHAIN) {
        merge_note(r->u->g, gr, w->kind, w->first->tensor, piece, w->n);
        return;
    }
    for (int i = 0; i < w->n; i++)
        gr->apart_us += choose_variant(r->u->s, piece[i])->cost.us;
    merge_note_chain(r->u->g, gr, &w->kept, piece, w->n);
}

/* *root: the unit of what it makes. */
static bool take_word(Replay *r, const char *text, int *root)
{
    Group *piece[CHAIN_MOST];
    Word w;

    if (!read_word(r, text, &w))
        return refuse(r, "it is no merge of the model's statements");
    if (!find_pieces(r, w.unit, w.n, piece))
        return false;
    *root = w.unit[w.n - 1];
    if (w.kind == MERGE_DROP)
        return drop_store(r, &r->piece[*root].group, w.first->tensor);
    Group *gr = merged(r, &w, piece);
    if (!gr)
        return refuse(r, NULL);
    r->why = NULL;
    note(r, &w, gr, piece);
    r->piece[*root].group = gr;
    for (int i = 0; i + 1 < w.n && w.kind != MERGE_AGAIN; i++)
        for (int k = 0; k < r->u->n; k++)
            if (r->piece[k].of == w.unit[i])
                r->piece[k].of = *root;
    return true;
}

/* The units of `root` are one; the other pieces are as they were. */
static void finish(Replay *r, int root)
{
    Group *gr = r->piece[root].group;

    for (int i = 0; i < r->u->n; i++) {
        Piece *p = &r->piece[i];
        if (i != root && p->of == root) {
            units_join(r->u, i, root);
            units_drop(r->u, i);
        }
        if (p->of == root)
            p->made = true;
        else if (!p->made)
            *p = (Piece){.alone = p->alone, .group = p->alone, .of = i};
    }
    units_set(r->u, root, gr);
}

const char *merge_replay(Replay *r, const char *words)
{
    Arena *a = r->u->g->arena;
    int root = -1;

    r->why = NULL;
    for (words += strspn(words, " "); *words; words += strspn(words, " ")) {
        size_t n = strcspn(words, " ");
        const char *word = arena_strndup(a, words, n);
        if (!take_word(r, word, &root))
            return arena_printf(a, "'%s': %s", word, r->why);
        words += n;
    }
    if (root < 0)
        return "it has no merges";
    finish(r, root);
    return NULL;
}

int merge_replayed(const Replay *r, const char *key)
{
    const Stmt *s = map_get(r->stmt_of, key);
    int of = s ? r->piece[r->place[s->id]].of : -1;

    return of >= 0 && r->u->unit[of].group ? of : -1;
}
