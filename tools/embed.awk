# Writes the files named on the command line as a C table, so that the dcc
# binary needs none of them at run time:
#     awk -v symbol=embedded_prelude -f embed.awk dsl/prelude.dcl > prelude.c
# A file's name is its last path component.  See compiler/support/embed.h.
function close_file()
{
    if (open)
        print "     },"
    open = 0
}
BEGIN {
    print "/* Made by tools/embed.awk; do not edit. */"
    print "#include \"support/embed.h\"\n"
    printf "const EmbeddedFile %s[] = {\n", symbol
}
FNR == 1 {
    close_file()
    name = FILENAME
    sub(/.*\//, "", name)
    printf "    {\"%s\",\n", name
    open = 1
}
{
    gsub(/\\/, "&&")
    gsub(/"/, "\\\\&")
    gsub(/\?\?/, "?\"\"?") # no trigraphs
    printf "     \"%s\\n\"\n", $0
}
END {
    close_file()
    print "    {0, 0},\n};"
}
