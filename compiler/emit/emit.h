/* emit.h - what others see of this folder. Printing: finished kernels, host
 * code, the oracle; decides nothing. And what kernels are made with: trees
 * (quotations and templates), expressions as text, names, memory. */
#ifndef DCC_EMIT_H
#define DCC_EMIT_H

#include "emit/cprint.h"
#include "emit/memory.h"
#include "emit/names.h"
#include "emit/program.h"
#include "emit/template.h"
#include "emit/tree_quote.h"

/* One kernel: banner comment, enums, asserts, struct, kernel, launcher. */
void emit_kernel(Buf *b, const CudaProgram *p, const Kernel *k);
/* The whole .cu and .h of some models: banner, kernels, host tables, C API,
 * optional main. */
void emit_file(Buf *cu, Buf *header, CudaProgram *const *p, int n,
               const FileInfo *info);
/* The same in parts, to be linked: some kernels with their launchers; and the
 * rest, a host's .cu with a main, and its header. */
void emit_kernels_file(Buf *cu, const CudaProgram *p, Kernel *const *k, int n,
                       const FileInfo *info);
void emit_host_file(Buf *cu, Buf *header, CudaProgram *p,
                    const FileInfo *info);
/* What a kernel's launches compute in the source; those that differ in one
 * number alone are one: "layer.{0..11}.w". */
void emit_instances(Buf *b, const Kernel *k);
/* "extern "C" cudaError_t NAME_launch(...)", without the semicolon. */
void emit_launcher_head(Buf *b, const Kernel *k);
/* nvcc's flags for an architecture: "-arch=sm_80". */
const char *emit_arch_flags(int sm);
/* The launch after which a traced program finds t in memory; -1: none. */
int emit_traced_after(const CudaProgram *p, const Tensor *t);
/* One model's part of either (emit_host.c). */
void emit_model_host(Buf *b, const CudaProgram *p);
void emit_model_header(Buf *b, const CudaProgram *p);
/* The oracle: plain C in double, one program for all the models; from the
 * graphs as lowered, before simplify. */
void emit_ref(Buf *b, Graph *const *graph, int n_graph, bool gradients);

#endif
