# wgmma.awk - writes runtime/dcc_wgmma_shapes.cuh:
#   awk -f tools/wgmma.awk </dev/null >runtime/dcc_wgmma_shapes.cuh

# The accumulators as operands of the instruction, and their constraints; lines
# of at most 80 columns that end in a continuation.
function list(name, n, kind,    i, item, line) {
    line = "#define " name
    print line (kind == "text" ? " \\" : "(d) \\")
    line = "   "
    for (i = 0; i < n; i++) {
        if (kind == "text")
            item = "%" i (i + 1 < n ? ", " : "")
        else
            item = " \"+f\"(d[" i "])" (i + 1 < n ? "," : "")
        if (kind == "text" && line == "   ")
            line = "    \""
        if (length(line) + length(item) > 76) {
            print line (kind == "text" ? "\"" : "") " \\"
            line = kind == "text" ? "    \"" : "   "
        }
        line = line item
    }
    print line (kind == "text" ? "\"" : "")
}

BEGIN {
    print "// dcc_wgmma_shapes.cuh - the wrappers of dcc_wgmma.cuh for each N, with its"
    print "// lists of registers. Written by tools/wgmma.awk."
    print "#ifndef DCC_WGMMA_SHAPES_CUH"
    print "#define DCC_WGMMA_SHAPES_CUH"
    for (n = 8; n <= 256; n += 8) {
        regs = n / 2
        printf "\n"
        list("DCC_WGMMA_REGS_" n, regs, "text")
        list("DCC_WGMMA_SUMS_" n, regs, "constraint")
        printf "DCC_WGMMA(%d, f16", n
        for (i = 0; i < 8; i++)
            printf ", \"%%%d\"", regs + i
        printf ")\nDCC_WGMMA(%d, bf16", n
        for (i = 0; i < 8; i++)
            printf ", \"%%%d\"", regs + i
        printf ")\nDCC_WGMMA_TF32(%d", n
        for (i = 0; i < 6; i++)
            printf ", \"%%%d\"", regs + i
        printf ")\n"
    }
    print "\n#endif"
}
