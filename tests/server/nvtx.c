/* nvtx.c - says which ranges a program pushes: NVTX_INJECTION64_PATH. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

static int NVTX_API push(const char *name)
{
    fprintf(stderr, "push %s\n", name);
    return 0;
}

static int NVTX_API pop(void)
{
    fprintf(stderr, "pop\n");
    return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table)
{
    const NvtxExportTableCallbacks *all =
        (const NvtxExportTableCallbacks *)table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable f;
    unsigned n;

    if (!all->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &f, &n))
        return 0;
    *f[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *f[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
