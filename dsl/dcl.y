/* dcl.y - the grammar, without conflicts. Actions only call build.c; parse.c
 * words the messages. What the grammar lets through because it must not
 * conflict (a range among a call's arguments, say) build.c refuses. */
%define api.pure full
%define api.prefix {dcl_}
%define api.token.prefix {TOK_}
%define api.location.type {Loc}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {Parser *p}

%code requires {
#include "parse.h"
}

%union {
    Name name;
    AstExpr *expr;
    AstStmt *stmt;
    Item *item;
    AstType *type;
    TypeDim dim;
    Arg arg;
    Args args;
    String string;
    StrPart part;
    Body body;
    Note note;
    Range range;
    Param param;
    ParamList params;
    Attr attr;
    AttrList attrs;
    ItemKind item_kind;
    BinaryOp binary;
}

%code {
#include <stdlib.h>

#define YYMALLOC(n) arena_need(malloc(n))
#define YYFREE free
#define YYLLOC_DEFAULT(all, rhs, n) \
    ((all) = (n) ? join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n)) \
                 : after(YYRHSLOC(rhs, 0)))

int dcl_lex(DCL_STYPE *val, DCL_LTYPE *loc, Parser *p);
static void dcl_error(const Loc *loc, Parser *p, const char *message);

static Loc join(Loc a, Loc b)
{
    if (a.at.line == b.end_line)
        a.at.len = b.end_col - a.at.col;
    a.end_line = b.end_line;
    a.end_col = b.end_col;
    return a;
}

static Loc after(Loc a)
{
    a.at.line = a.end_line;
    a.at.col = a.end_col;
    a.at.len = 1;
    return a;
}

#define PUSH(list, field, x) \
    (VEC_PUSH(p->arena, (list).field, (list).n, (list).cap) = (x))
}

%initial-action { @$ = (Loc){{p->source, 1, 1, 1}, 1, 1}; }

%token OP "'op'" BLOCK "'block'" MODEL "'model'"
%token DIM "'dim'" TYPE "'type'" INPUT "'input'" OUTPUT "'output'"
%token PARAM "'param'" STATE "'state'" FOR "'for'" IN "'in'" IF "'if'"
%token ELSE "'else'" SCAN "'scan'" AS "'as'" OR "'or'" REQUIRE "'require'"
%token DOTS "'..'" ARROW "'->'" EQ "'=='" NE "'!='" LE "'<='" GE "'>='"
%token AND "'&&'" OROR "'||'" ADD "'+='"
%token QUOTE "a string" QUOTE_END "'\"'" HOLE "'{'" HOLE_END "the string's '}'"
%token <name> NAME "a name" NUM "a number" ELEM "an element type" TEXT "text"

%type <item> item op_body
%type <item_kind> op_kw
%type <params> params param_list
%type <param> param
%type <attrs> attrs attr_list
%type <attr> attr attr_name
%type <type> type opt_type type_dims
%type <name> type_name
%type <dim> dim
%type <body> body stmts
%type <stmt> stmt bare def if
%type <note> note
%type <range> range opt_in
%type <args> left args exprs
%type <arg> arg
%type <string> string parts
%type <part> part
%type <binary> rel
%type <expr> expr lor land cmp add term prod unary tail red red_body pprod
%type <expr> post outside read call list

%%

file: %empty
    | file item {
        if ($2)
            VEC_PUSH(p->arena, p->program->item, p->program->n_item,
                     p->program->cap_item) = $2;
    }
    | file error { parse_recovered_item(p); }
    ;

item: op_kw NAME '(' params attrs ')' ARROW NAME opt_type op_body {
        $$ = $10;
        $$->name = $2;
        $$->param = $4.param;
        $$->n_param = $4.n;
        $$->attr = $5.attr;
        $$->n_attr = $5.n;
        $$->result = $8;
        $$->result_type = $9;
        build_item(p, $$, @$, $1);
    }
    | MODEL NAME body {
        $$ = arena_new_of(p->arena, Item);
        $$->name = $2;
        $$->body = $3;
        $$->has_body = true;
        build_item(p, $$, @$, ITEM_MODEL);
    }
    | op_kw error body { $$ = NULL; }
    | MODEL error body { $$ = NULL; }
    ;

op_kw: OP { $$ = ITEM_OP; } | BLOCK { $$ = ITEM_BLOCK; } ;

op_body: body {
        $$ = arena_new_of(p->arena, Item);
        $$->body = $1;
        $$->has_body = true;
    }
    | ';' { $$ = arena_new_of(p->arena, Item); }
    ;

/* ---- signatures and types */

params: %empty { $$ = (ParamList){0}; } | param_list ;
param_list: param { $$ = (ParamList){0}; PUSH($$, param, $1); }
    | param_list ',' param { $$ = $1; PUSH($$, param, $3); }
    ;
param: NAME ':' type { $$ = (Param){$1, $3, NULL}; }
    | NAME ':' type '=' expr { $$ = (Param){$1, $3, $5}; }
    ;

attrs: %empty { $$ = (AttrList){0}; } | ';' attr_list { $$ = $2; } ;
attr_list: attr { $$ = (AttrList){0}; PUSH($$, attr, $1); }
    | attr_list ',' attr { $$ = $1; PUSH($$, attr, $3); }
    ;
attr: attr_name | attr_name '=' expr { $$ = $1; $$.value = $3; } ;
attr_name: NAME { $$ = (Attr){ATTR_ONE, $1, NULL, NULL}; }
    | NAME '[' ']' { $$ = (Attr){ATTR_LIST, $1, NULL, NULL}; }
    | NAME '[' expr ']' { $$ = (Attr){ATTR_COUNT, $1, $3, NULL}; }
    | TYPE NAME { $$ = (Attr){ATTR_TYPE, $2, NULL, NULL}; }
    ;

opt_type: %empty { $$ = NULL; } | ':' type { $$ = $2; } ;
type_name: NAME | ELEM ;
type: type_name { $$ = build_type(p, @$, $1); }
    | type_name '[' ']' { $$ = build_type(p, @$, $1); $$->shaped = true; }
    | type_dims ']' { $$ = $1; $$->at = @$.at; }
    ;
type_dims: type_name '[' dim {
        $$ = build_type(p, @$, $1);
        $$->shaped = true;
        VEC_PUSH(p->arena, $$->dim, $$->n_dim, $$->cap_dim) = $3;
    }
    | type_dims ',' dim {
        $$ = $1;
        VEC_PUSH(p->arena, $$->dim, $$->n_dim, $$->cap_dim) = $3;
    }
    ;
dim: expr { $$ = (TypeDim){.kind = DIM_SIZE, .at = @$.at, .size = $1}; }
    | DOTS {
        $$ = (TypeDim){.kind = DIM_PACK, .at = @$.at, .name = {"", @1.at}};
    }
    | NAME DOTS {
        $$ = (TypeDim){.kind = DIM_PACK, .at = @$.at, .name = $1};
    }
    | NAME '@' NAME {
        $$ = (TypeDim){.kind = DIM_AXIS, .at = @$.at, .name = $1, .axis = $3};
    }
    ;

/* ---- statements */

body: '{' stmts '}' { $$ = $2; $$.open = @1.at; $$.close = @3.at; }
    | '{' stmts error '}' {
        $$ = $2;
        $$.open = @1.at;
        $$.close = @4.at;
        yyerrok;
    }
    ;
stmts: %empty { $$ = (Body){0}; }
    | stmts stmt { $$ = $1; if ($2) PUSH($$, stmt, $2); }
    ;
stmt: bare
    | note stmt {
        $$ = $2;
        if ($$) {
            VEC_PUSH(p->arena, $$->note, $$->n_note, $$->cap_note) = $1;
            $$->at = @1.at;
        }
    }
    | error ';' { $$ = NULL; parse_recovered(p); yyerrok; }
    ;
bare: DIM NAME '=' expr ';' {
        $$ = build_stmt(p, STMT_DIM, @$, $2, NULL);
        $$->dim.value = $4;
    }
    | DIM NAME IN '{' exprs '}' ';' {
        $$ = build_stmt(p, STMT_DIM, @$, $2, NULL);
        $$->dim.choices = $5;
    }
    | DIM NAME IN '{' '}' ';' {
        $$ = NULL;
        diag_error(p->diag, @4.at, "a set has 2 to 16 sizes, as {1, 8}");
    }
    | TYPE NAME '=' type_name ';' {
        $$ = build_stmt(p, STMT_TYPE, @$, $2, build_type(p, @4, $4));
    }
    | INPUT NAME ':' type opt_in ';' {
        $$ = build_stmt(p, STMT_INPUT, @$, $2, $4);
        $$->input = $5;
    }
    | PARAM NAME ':' type ';' {
        $$ = build_stmt(p, STMT_PARAM, @$, $2, $4);
    }
    | PARAM NAME ':' type '=' expr ';' {
        $$ = build_stmt(p, STMT_PARAM, @$, $2, $4);
        build_param($$, $6);
    }
    | PARAM NAME ':' type '=' string OR expr ';' {
        $$ = build_stmt(p, STMT_PARAM, @$, $2, $4);
        $$->param.has_path = true;
        $$->param.path = $6;
        $$->param.start = $8;
    }
    | STATE NAME ':' type ';' {
        $$ = build_stmt(p, STMT_STATE, @$, $2, $4);
    }
    | STATE NAME ':' type '=' expr ';' {
        $$ = build_stmt(p, STMT_STATE, @$, $2, $4);
        build_param($$, $6);
    }
    | STATE NAME ':' type '=' string OR expr ';' {
        $$ = build_stmt(p, STMT_STATE, @$, $2, $4);
        $$->param.has_path = true;
        $$->param.path = $6;
        $$->param.start = $8;
    }
    | REQUIRE expr ';' {
        $$ = build_stmt(p, STMT_REQUIRE, @$, (Name){0}, NULL);
        $$->require = $2;
    }
    | def
    | OUTPUT def { $$ = $2; $$->at = @$.at; $$->def.output = true; }
    | OUTPUT NAME ';' { $$ = build_stmt(p, STMT_OUTPUT, @$, $2, NULL); }
    | FOR NAME IN range body {
        $$ = build_stmt(p, STMT_FOR, @$, $2, NULL);
        $$->loop.range = $4;
        $$->loop.body = $5;
    }
    | FOR NAME IN NAME body {
        $$ = build_stmt(p, STMT_FOR, @$, $2, NULL);
        $$->loop.params = true;
        $$->loop.body = $5;
        if (strcmp($4.text, "params"))
            diag_error(p->diag, $4.at, "expected a range a..b, or 'params'");
    }
    | SCAN NAME IN range body {
        $$ = build_stmt(p, STMT_SCAN, @$, $2, NULL);
        $$->loop.range = $4;
        $$->loop.body = $5;
    }
    | FOR error body { $$ = NULL; }
    | SCAN error body { $$ = NULL; }
    | if
    ;
if: IF '(' expr ')' body {
        $$ = build_stmt(p, STMT_IF, @$, (Name){0}, NULL);
        $$->branch.cond = $3;
        $$->branch.yes = $5;
    }
    | IF '(' expr ')' body ELSE body {
        $$ = build_stmt(p, STMT_IF, @$, (Name){0}, NULL);
        $$->branch.cond = $3;
        $$->branch.yes = $5;
        $$->branch.no = $7;
        $$->branch.has_else = true;
    }
    | IF '(' expr ')' body ELSE if {
        $$ = build_stmt(p, STMT_IF, @$, (Name){0}, NULL);
        $$->branch.cond = $3;
        $$->branch.yes = $5;
        $$->branch.has_else = $$->branch.else_if = true;
        if ($7) {
            PUSH($$->branch.no, stmt, $7);
            $$->branch.no.open = $7->at;
            $$->branch.no.close = $7->end;
        }
    }
    | IF error body { $$ = NULL; }
    ;
note: '@' NAME { $$ = (Note){.name = $2}; }
    | '@' NAME '(' args ')' {
        $$ = (Note){.name = $2, .args = $4};
        build_note(p, &$$);
    }
    ;
opt_in: %empty { $$ = (Range){0}; } | IN range { $$ = $2; } ;
range: expr DOTS expr { $$ = (Range){$1, $3}; } ;
def: NAME opt_type '=' expr ';' {
        $$ = build_stmt(p, STMT_DEF, @$, $1, $2);
        $$->def.value = $4;
    }
    | NAME left opt_type '=' expr ';' {
        $$ = build_stmt(p, STMT_DEF, @$, $1, $3);
        $$->def.indexed = true;
        $$->def.left = $2;
        $$->def.value = $5;
    }
    | NAME left ADD expr ';' {
        $$ = build_stmt(p, STMT_DEF, @$, $1, NULL);
        $$->def.indexed = $$->def.add = true;
        $$->def.left = $2;
        $$->def.value = $4;
    }
    ;
left: '[' ']' { $$ = (Args){0}; }
    | '[' args ']' { $$ = $2; build_left(p, &$$); }
    ;
args: arg { $$ = (Args){0}; PUSH($$, arg, $1); }
    | args ',' arg { $$ = $1; PUSH($$, arg, $3); }
    ;
arg: expr { $$ = build_arg(ARG_VALUE, @$, (Name){0}, $1, (Range){0}); }
    | NAME '=' expr { $$ = build_arg(ARG_NAMED, @$, $1, $3, (Range){0}); }
    | NAME IN range { $$ = build_arg(ARG_INDEX, @$, $1, NULL, $3); }
    | DOTS {
        $$ = build_arg(ARG_PACK, @$, (Name){"", @1.at}, NULL, (Range){0});
    }
    | NAME DOTS { $$ = build_arg(ARG_PACK, @$, $1, NULL, (Range){0}); }
    ;
exprs: expr {
        $$ = (Args){0};
        PUSH($$, arg, build_arg(ARG_VALUE, @1, (Name){0}, $1, (Range){0}));
    }
    | exprs ',' expr {
        $$ = $1;
        PUSH($$, arg, build_arg(ARG_VALUE, @3, (Name){0}, $3, (Range){0}));
    }
    ;

/* ---- expressions */

expr: lor
    | lor '?' expr ':' expr { $$ = build_select(p, @$, $1, $3, $5); }
    ;
lor: land
    | lor OROR land { $$ = build_binary(p, @$, BIN_OR, @2, $1, $3); }
    ;
land: cmp
    | land AND cmp { $$ = build_binary(p, @$, BIN_AND, @2, $1, $3); }
    ;
cmp: add
    | add rel add { $$ = build_binary(p, @$, $2, @2, $1, $3); }
    ;
rel: '<' { $$ = BIN_LT; } | '>' { $$ = BIN_GT; } | LE { $$ = BIN_LE; }
    | GE { $$ = BIN_GE; } | EQ { $$ = BIN_EQ; } | NE { $$ = BIN_NE; }
    ;
add: term
    | add '+' term { $$ = build_binary(p, @$, BIN_ADD, @2, $1, $3); }
    | add '-' term { $$ = build_binary(p, @$, BIN_SUB, @2, $1, $3); }
    ;
term: prod
    | tail
    | prod '*' tail { $$ = build_binary(p, @$, BIN_MUL, @2, $1, $3); }
    | prod '/' tail { $$ = build_binary(p, @$, BIN_DIV, @2, $1, $3); }
    | prod '%' tail { $$ = build_binary(p, @$, BIN_MOD, @2, $1, $3); }
    ;
prod: unary
    | prod '*' unary { $$ = build_binary(p, @$, BIN_MUL, @2, $1, $3); }
    | prod '/' unary { $$ = build_binary(p, @$, BIN_DIV, @2, $1, $3); }
    | prod '%' unary { $$ = build_binary(p, @$, BIN_MOD, @2, $1, $3); }
    ;
unary: post
    | '-' unary { $$ = build_unary(p, @$, UN_NEG, $2); }
    | '!' unary { $$ = build_unary(p, @$, UN_NOT, $2); }
    ;
/* ends in a reduction, which takes the rest of the product */
tail: red
    | '-' tail { $$ = build_unary(p, @$, UN_NEG, $2); }
    | '!' tail { $$ = build_unary(p, @$, UN_NOT, $2); }
    ;
red: call red_body { $$ = build_reduce(p, @$, $1, $2); } ;
red_body: pprod
    | red
    | pprod '*' tail { $$ = build_binary(p, @$, BIN_MUL, @2, $1, $3); }
    | pprod '/' tail { $$ = build_binary(p, @$, BIN_DIV, @2, $1, $3); }
    | pprod '%' tail { $$ = build_binary(p, @$, BIN_MOD, @2, $1, $3); }
    ;
/* begins without a sign */
pprod: post
    | pprod '*' unary { $$ = build_binary(p, @$, BIN_MUL, @2, $1, $3); }
    | pprod '/' unary { $$ = build_binary(p, @$, BIN_DIV, @2, $1, $3); }
    | pprod '%' unary { $$ = build_binary(p, @$, BIN_MOD, @2, $1, $3); }
    ;
post: NUM { $$ = build_number(p, @$, $1.text); }
    | string { $$ = build_string(p, @$, $1); }
    | NAME { $$ = build_name(p, $1); }
    | read
    | read OR outside { $$ = build_outside(p, @$, $1, $3); }
    | call { $$ = build_plain_call(p, $1); }
    | call AS string { $$ = build_as(p, @$, $1, $3); }
    | ELEM { $$ = build_name(p, $1); }
    | ELEM '(' args ')' { $$ = build_cast(p, @$, $1, $3); }
    | '(' expr ')' { $$ = $2; $$->paren = true; }
    | list
    ;
outside: post
    | '-' outside { $$ = build_unary(p, @$, UN_NEG, $2); }
    ;
read: NAME '[' args ']' { $$ = build_read(p, @$, $1, $3); }
    | NAME '[' ']' { $$ = build_read(p, @$, $1, (Args){0}); }
    ;
call: NAME '(' args ')' { $$ = build_call(p, @$, $1, NULL, $3); }
    | NAME '(' ')' { $$ = build_call(p, @$, $1, NULL, (Args){0}); }
    | read '(' args ')' { $$ = build_call_of_read(p, @$, $1, $3); }
    ;
list: '[' args ']' { $$ = build_list(p, @$, $2); } ;

string: QUOTE parts QUOTE_END { $$ = $2; $$.at = @$.at; } ;
parts: %empty { $$ = (String){0}; }
    | parts part { $$ = $1; PUSH($$, part, $2); }
    ;
part: TEXT { $$ = (StrPart){$1.text, NULL}; }
    | HOLE expr HOLE_END { $$ = (StrPart){NULL, $2}; }
    ;

%%

/* The grammar's stack is bounded: whatever overflows it is nested too deep. */
static void dcl_error(const Loc *loc, Parser *p, const char *message)
{
    (void)message;
    parse_too_deep(p, loc->at);
}

static void put_word(Buf *b, int *n, int left, const char *word)
{
    buf_printf(b, "%s%s", !*n ? "" : left ? ", " : " or ", word);
    ++*n;
}

static bool is_one_of(int kind, const char *chars)
{
    for (; *chars; chars++)
        if (kind == (int)YYTRANSLATE((int)*chars))
            return true;
    return false;
}

/* What may stand here, in words: operators and the beginnings of expressions
 * and statements are not listed one by one. */
static void put_expected(Buf *b, const bool *has)
{
    const char *word[YYNTOKENS + 2];
    int n = 0, put = 0;
    bool after = has[YYTRANSLATE('+')];
    bool before = has[YYSYMBOL_NUM] && !after;
    bool statement = has[YYSYMBOL_DIM];

    if (before)
        word[n++] = "an expression";
    if (statement)
        word[n++] = "a statement";
    for (int i = YYSYMBOL_OP; i < YYNTOKENS; i++) {
        bool closer = is_one_of(i, ";)],:{}") || i == YYSYMBOL_HOLE_END ||
                      (i == YYSYMBOL_DOTS &&
                       !(after && has[YYTRANSLATE(',')]));
        if (has[i] && (closer || !(after || before)) &&
            (!statement || i == YYTRANSLATE('}')))
            word[n++] = yysymbol_name((yysymbol_kind_t)i);
    }
    for (int i = 0; i < n; i++)
        put_word(b, &put, n - 1 - i, word[i]);
}

static int yyreport_syntax_error(const yypcontext_t *ctx, Parser *p)
{
    yysymbol_kind_t kinds[YYNTOKENS];
    bool has[YYNTOKENS] = {0};
    Buf b = {0};
    int n = yypcontext_expected_tokens(ctx, kinds, YYNTOKENS);

    if (p->stop)
        return 0;
    for (int i = 0; i < n; i++)
        has[kinds[i]] = true;
    put_expected(&b, has);
    parse_expected(p, buf_text(&b), has[YYTRANSLATE(';')]);
    buf_free(&b);
    return 0;
}
