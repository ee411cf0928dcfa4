# Calls everything in a .dcl by names that emitted text could mistake for its
# own: drawn from words.txt, from what templates and emitters write themselves,
# and from what would be derived from names given before (x_frag of x).
#     awk -v seed=N -f rename.awk WORDS PRELUDE FILE.dcl
# WORDS are candidates, blank or newline between them. Words of the language
# and of PRELUDE keep their meaning; strings stay, and what stands in a {} of
# one.
BEGIN {
    srand(seed)
    n = split("op block model dim type input output param state for in if " \
        "else scan as or require inf true false f32 f16 bf16 i8 i32 bool " \
        "f8e4m3 sum mean prod max min argmax reshape transpose concat axis " \
        "perm shape exp exp2 expm1 log log2 log10 log1p sin cos tan asin " \
        "acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv " \
        "normcdf tgamma lgamma floor ceil trunc round rint hypot copysign " \
        "fdim fma pow atan2 fmod abs sqrt rsqrt cbrt fmax fmin isnan isinf " \
        "sigmoid relu silu", w, " ")
    for (i = 1; i <= n; i++)
        keep[w[i]] = 1
    n_word = n_new = 0
}
FNR == 1 { file++ }
file == 1 { for (i = 1; i <= NF; i++) word[n_word++] = $i; next }
# s's first token; its length in RLENGTH
function token(s)
{
    if (match(s, /^[A-Za-z_][A-Za-z0-9_]*/) || match(s, /^"[^"]*"/) ||
        match(s, /^\/\/.*/) || match(s, /^[0-9][0-9.]*[A-Za-z0-9_]*/))
        return substr(s, 1, RLENGTH)
    RLENGTH = 1
    return substr(s, 1, 1)
}
function strings(t,   i, part)
{
    while (match(t, /\{[^}]*\}/)) {
        part = substr(t, RSTART + 1, RLENGTH - 2)
        t = substr(t, RSTART + RLENGTH)
        while (match(part, /[A-Za-z_][A-Za-z0-9_]*/)) {
            keep[substr(part, RSTART, RLENGTH)] = 1
            part = substr(part, RSTART + RLENGTH)
        }
    }
}
file == 2 {
    for (s = $0; s != ""; s = substr(s, RLENGTH + 1))
        if ((t = token(s)) ~ /^[A-Za-z_]/)
            prelude[t] = 1
    if ($1 == "op") {
        sub(/\(.*/, "", $2)
        keep[$2] = 1
    }
    next
}
file == 3 {
    line[n_line++] = $0
    for (s = $0; s != ""; s = substr(s, RLENGTH + 1)) {
        t = token(s)
        len = RLENGTH
        rest = substr(s, len + 1)
        if (t ~ /^"/)
            strings(t)
        depth += (t == "(") - (t == ")")
        # what a call names, and @notes
        if (t ~ /^[A-Za-z_]/ && (before == "@" ||
            (depth > 0 && rest ~ /^ *=([^=]|$)/)))
            keep[t] = 1
        before = t
        RLENGTH = len
    }
}
function fresh(   t, n)
{
    for (;;) {
        n = n_new && rand() < 0.2
        t = n ? made[int(rand() * n_new)] : word[int(rand() * n_word)]
        if (n)
            t = t suffix[int(rand() * n_suffix) + 1]
        if (t ~ /^[A-Za-z_][A-Za-z0-9_]*$/ && !(t in keep) &&
            !(t in prelude) && !(t in used)) {
            used[t] = 1
            made[n_new++] = t
            return t
        }
    }
}
END {
    n_suffix = split("_ __ _1 _2 _frag _tile _map _vec _val _sum _out _row " \
        "_launch 0 _run _inputs", suffix, " ")
    for (i = 0; i < n_line; i++) {
        for (s = line[i]; s != ""; s = substr(s, len + 1)) {
            t = token(s)
            len = RLENGTH
            if (t !~ /^[A-Za-z_]/ || t in keep) {
                printf "%s", t
                continue
            }
            if (!(t in name))
                name[t] = fresh()
            printf "%s", name[t]
        }
        print ""
    }
}
