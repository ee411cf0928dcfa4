# Writes text files as C, so that the dcc binary needs none of them at run
# time.  A table of the files named, see compiler/support/embed.h:
#     awk -v table=embedded_devices -f embed.awk *.dev > devices.c
# or one file as `const char NAME_text[]` and its length `NAME_len`:
#     awk -v text=dsl_prelude -f embed.awk prelude.dcl > prelude.c
BEGIN {
    print "/* Made by tools/embed.awk; do not edit. */"
    if (text) {
        print "#include <stddef.h>\n"
        printf "extern const char %s_text[];\n", text
        printf "extern const size_t %s_len;\n\n", text
        printf "const char %s_text[] =\n", text
    } else {
        print "#include \"support/embed.h\"\n"
        printf "const EmbeddedFile %s[] = {\n", table
    }
}
FNR == 1 && table {
    name = FILENAME
    sub(/.*\//, "", name)
    printf "%s    {\"%s\",\n", (NR > 1 ? "    },\n" : ""), name
}
{
    gsub(/\\/, "&&")
    gsub(/"/, "\\\\&")
    gsub(/\?\?/, "?\"\"?") # no trigraphs
    printf "    \"%s\\n\"\n", $0
}
END {
    if (text) {
        printf "    ;\nconst size_t %s_len = sizeof %s_text - 1;\n", text, text
    } else
        printf "%s    {0, 0},\n};\n", (NR ? "    },\n" : "")
}
