#include "options_table.h"

#include <string.h>

enum {
    COMPILE = 1 << COMMAND_COMPILE, RUN = 1 << COMMAND_RUN,
    VERIFY = 1 << COMMAND_VERIFY, TUNE = 1 << COMMAND_TUNE,
    BENCH = 1 << COMMAND_BENCH, BUILD = 1 << COMMAND_BUILD,
    REPORT = 1 << COMMAND_REPORT, TRAIN = 1 << COMMAND_TRAIN,
    IMPORT = 1 << COMMAND_IMPORT, FMT = 1 << COMMAND_FMT,
    PROBE = 1 << COMMAND_PROBE,
    MODELS = COMPILE | RUN | VERIFY | TUNE | BENCH | BUILD | REPORT | TRAIN,
    PICKS = MODELS & ~TUNE, RUNS = RUN | BENCH,
    PLACES = MODELS & ~COMPILE & ~REPORT,
    ALL = ~0
};

const CommandRow command_table[] = {
    {"", "[options] MODEL.dcl... [-o FUSED.cu]", "write CUDA",
     "Several files are one program, in any order; - is standard input or\n"
     "output wherever a file is meant.",
     COMMAND_COMPILE},
    {"run", "[options] MODEL.dcl...", "build and run",
     "On the GPU with nvcc where both are there, else on the CPU; says which.",
     COMMAND_RUN},
    {"verify", "[options] MODEL.dcl...", "compare with an oracle",
     "Every output and every tensor in memory, on random data, with the\n"
     "program's plain meaning in double precision.",
     COMMAND_VERIFY},
    {"bench", "[options] MODEL.dcl...", "time runs",
     "Latency of a run with percentiles, on random data where no file gives\n"
     "any; with --streams the runs a second of several at a time.",
     COMMAND_BENCH},
    {"train", "[options] MODEL.dcl... --data FILE --steps N --save FILE",
     "train a model",
     "Batches of the data's rows, shuffled anew each epoch; parameters and all\n"
     "that optimizers keep go to --save, from which --resume goes on.",
     COMMAND_TRAIN},
    {"tune", "[options] MODEL.dcl... -o PLAN", "measure variants",
     "Writes the best as a plan, for --plan. Interrupted, it keeps what it "
     "has.",
     COMMAND_TUNE},
    {"report", "[options] MODEL.dcl... -o REPORT.html", "a page of decisions",
     "Kernels with their lines and text, predicted times beside measured ones,\n"
     "a roofline, memory over time: one file, for a browser.",
     COMMAND_REPORT},
    {"build", "[options] MODEL.dcl... -o LIB.so", "build a shared library",
     "For programs that load one: dcc.py beside the runtime does, from "
     "Python.",
     COMMAND_BUILD},
    {"import", "[options] MODEL.onnx -o MODEL.dcl", "from ONNX",
     "Its weights go beside it as .safetensors.", COMMAND_IMPORT},
    {"fmt", "[-i | --check] FILE...", "canonical formatting",
     "To standard output; - is standard input.", COMMAND_FMT},
    {"ops", "[NAME...]", "the operator library",
     "Signatures of all, or definitions of some.", COMMAND_OPS},
    {"devices", "[GPU...]", "the GPUs known",
     "What the performance model knows of them.", COMMAND_DEVICES},
    {"probe", "[--gpu] [-o GPU.dev]", "measure the GPU at hand",
     "Its figures as a file that --target takes; to standard output without\n"
     "-o. Wants nvcc.",
     COMMAND_PROBE},
    {"completion", "bash | zsh", "words that a shell completes",
     "eval \"$(dcc completion bash)\" in one's ~/.bashrc, or the same for zsh.",
     COMMAND_COMPLETION},
    {"help", "[COMMAND]", "this, or a command's options", "", COMMAND_HELP},
    {0},
};

const OptionRow option_table[] = {
    {"-o", "FILE", VALUE_FILE, COMPILE, O_OUT,
     "the .cu; its header goes beside it as .h"},
    {"-o", "PLAN", VALUE_FILE, TUNE, O_OUT, "the plan; a must"},
    {"-o", "LIB.so", VALUE_FILE, BUILD, O_OUT, "the library; a must"},
    {"-o", "REPORT.html", VALUE_FILE, REPORT, O_OUT, "the page; a must"},
    {"-o", "FILE", VALUE_FILE, IMPORT, O_OUT,
     "the .dcl; its weights go beside it"},
    {"-o", "GPU.dev", VALUE_FILE, PROBE, O_OUT, "the file; default: printed"},
    {"-D", "NAME=VALUE", VALUE_TEXT, MODELS, O_DEFINE,
     "replace a model's dim or type"},
    {"--target", "GPU", VALUE_GPU, MODELS, O_TARGET,
     "h200 (default), a100, ..., or sm_80, sm_90"},
    {"--model", "NAME", VALUE_TEXT, MODELS, O_MODEL,
     "only this model of the files"},
    {"--math", "exact|tf32|3xtf32", VALUE_WORD, MODELS, O_MATH,
     "f32 contractions (default exact)"},
    {"--dependent-launch", "on|off", VALUE_WORD, MODELS, O_DEPENDENT,
     "kernels begin before those ahead have ended (default on, from sm_90)"},
    {"--memory", "BYTES|PERCENT", VALUE_TEXT, MODELS, O_MEMORY,
     "what a model may take of the GPU, as 800M, 2G, or of its "
     "intermediates as 60%: what does not fit is computed again for the gradients"},
    {"--main", NULL, VALUE_NONE, COMPILE, O_MAIN,
     "add a main(): with the runtime, a program"},
    {"--standalone", NULL, VALUE_NONE, COMPILE, O_STANDALONE,
     "put the runtime's text into the .cu"},
    {"--trace", NULL, VALUE_NONE, COMPILE, O_TRACE,
     "let that program write every tensor"},
    {"--emit", "cu|ref", VALUE_WORD, COMPILE, O_EMIT,
     "CUDA, or the oracle in plain C"},
    {"-MD", NULL, VALUE_NONE, COMPILE, O_MD,
     "write what the .cu depends on, for make, as .d beside it"},
    {"-MF", "FILE", VALUE_FILE, COMPILE, O_MF, "write it there"},
    {"--plan", "FILE", VALUE_FILE, MODELS, O_PLAN,
     "grouping and variants from a plan file"},
    {"--write-plan", "FILE", VALUE_FILE, COMPILE, O_WRITE_PLAN, "write them"},
    {"--variant", "KERNEL=TEXT", VALUE_TEXT, PICKS, O_VARIANT,
     "force a variant; KERNEL is a kernel or a family"},
    {"--random-plan", "SEED", VALUE_TEXT, PICKS, O_RANDOM_PLAN,
     "random legal variants (a test)"},
    {"--dump", "PASS", VALUE_PASS, PICKS, O_DUMP, "what a pass produced"},
    {"--explain", "json", VALUE_MAYBE, COMPILE, O_EXPLAIN,
     "every decision with its numbers; as JSON with =json"},
    {"--explain", NULL, VALUE_NONE, PICKS & ~COMPILE & ~REPORT, O_EXPLAIN,
     "every decision with its numbers"},
    {"--weights", "FILE", VALUE_FILE, RUNS | TRAIN, O_WEIGHTS,
     "the parameters, .safetensors"},
    {"--in", "FILE", VALUE_FILE, RUNS, O_IN, "inputs; may be repeated"},
    {"--out", "FILE", VALUE_FILE, RUN, O_RESULT, "where the outputs go"},
    {"--random", NULL, VALUE_NONE, RUN, O_RANDOM, "draw what no file gives"},
    {"--seed", "N", VALUE_TEXT, RUN | VERIFY | TUNE | BENCH, O_SEED,
     "draw other data than that of seed 1"},
    {"--data", "FILE", VALUE_FILE, TRAIN, O_DATA,
     "tensors of rows, each called as the input it is for; a must"},
    {"--steps", "N", VALUE_TEXT, TRAIN, O_STEPS,
     "train until N steps are done; a must"},
    {"--save", "FILE", VALUE_FILE, RUN, O_SAVE,
     "writes the parameters and inputs that ran, as --weights and --in take "
     "them"},
    {"--save", "FILE", VALUE_FILE, TRAIN, O_SAVE,
     "the state; the steps' losses and a picture go beside it; a must"},
    {"--resume", NULL, VALUE_NONE, TRAIN, O_RESUME, "go on from that state"},
    {"--validate", "FILE", VALUE_FILE, TRAIN, O_VALIDATE,
     "data that another model of the files runs on, with the weights so far"},
    {"--validate-with", "NAME", VALUE_TEXT, TRAIN, O_VALIDATE_WITH,
     "that model, where several could"},
    {"--every", "N", VALUE_TEXT, TRAIN, O_EVERY,
     "report, validate and save each N steps (default an epoch or a tenth)"},
    {"--set", "INPUT=VALUE", VALUE_TEXT, TRAIN, O_SET,
     "a number for an input that the data lacks, as lr=0.01"},
    {"--seed", "N", VALUE_TEXT, TRAIN, O_SEED,
     "shuffle and draw otherwise than with seed 1"},
    {"--runs", "N", VALUE_TEXT, RUN, O_RUNS,
     "run N times, state carried on"},
    {"--runs", "N", VALUE_TEXT, BENCH, O_RUNS, 
     "time N runs (default 1000, emulated 10)"},
    {"--sequence", NULL, VALUE_NONE, RUN, O_SEQUENCE,
     "an input of one dimension more is one value for each run; outputs too"},
    {"--feed", "INPUT=OUTPUT", VALUE_TEXT, RUN, O_FEED,
     "after each run an output is the next run's input"},
    {"--bench", "N", VALUE_TEXT, RUN, O_BENCH, "time N runs"},
    {"--warm-up", "N", VALUE_TEXT, BENCH, O_WARM_UP,
     "runs before those that count (default a tenth)"},
    {"--streams", "N", VALUE_TEXT, BENCH, O_STREAMS,
     "N copies of the model at a time"},
    {"--profile", NULL, VALUE_NONE, BENCH, O_PROFILE,
     "a table of the steps of a run, each timed alone"},
    {"--profile", "FILE", VALUE_FILE, REPORT, O_TIMES,
     "the step table that dcc bench --profile printed"},
    {"--json", "FILE", VALUE_FILE, RUNS, O_JSON, "the timings as JSON"},
    {"--budget", "TIME", VALUE_TEXT, TUNE, O_BUDGET,
     "end after 90s, 2m or 1h"},
    {"-j", "N", VALUE_TEXT, TUNE, O_JOBS, "compile N files at a time"},
    {"--variants", "N", VALUE_TEXT, TUNE, O_VARIANTS,
     "try at most N of each kernel (default 8)"},
    {"--keep", "FOLDER", VALUE_FOLDER, TUNE, O_KEEP,
     "work there, and leave sources, programs and logs"},
    {"--cpu", NULL, VALUE_NONE, PLACES, O_CPU, "on the CPU, emulated"},
    {"--gpu", NULL, VALUE_NONE, PLACES | PROBE, O_GPU, "on the GPU or not at all"},
    {"--gradients", NULL, VALUE_NONE, VERIFY, O_GRADIENTS,
     "gradients against derivatives of the forward pass, in double"},
    {"--verbose", NULL, VALUE_NONE, VERIFY, O_VERBOSE,
     "a line for each tensor"},
    {"--dim", "NAME=N", VALUE_TEXT, IMPORT | MODELS, O_DIM,
     "fix a symbolic size of an .onnx file; NAME is the file's, or INPUT.K"},
    {"--bind", "FILE", VALUE_FILE, IMPORT | MODELS, O_BIND,
     "inputs of an .onnx file that decide shapes, .safetensors"},
    {"--weights", "FILE", VALUE_FILE, IMPORT, O_WEIGHTS,
     "write the weights there"},
    {"--name", "NAME", VALUE_TEXT, IMPORT, O_NAME,
     "the model's name in the .dcl"},
    {"-i", NULL, VALUE_NONE, FMT, O_IN_PLACE, "rewrite the files"},
    {"--check", NULL, VALUE_NONE, FMT, O_CHECK,
     "name those not in their form; exit status 1 if there are any"},
    {"--help", NULL, VALUE_NONE, ALL, O_HELP, "this"},
    {"-h", NULL, VALUE_NONE, ALL, O_HELP, NULL},
    {"--version", NULL, VALUE_NONE, ALL, O_VERSION,
     "the version, and what it was built for"},
    {"-V", NULL, VALUE_NONE, ALL, O_VERSION, NULL},
    {0},
};

const CommandRow *command_find(const char *name)
{
    for (const CommandRow *c = command_table; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

const OptionRow *option_find(const char *name, CommandId command)
{
    const OptionRow *any = NULL;

    for (const OptionRow *o = option_table; o->name; o++)
        if (!strcmp(o->name, name)) {
            if (o->of & 1u << command)
                return o;
            any = o;
        }
    return any;
}

const char *command_title(CommandId id)
{
    static const char *const title[] = {
        [COMMAND_COMPILE] = "dcc MODEL.dcl", [COMMAND_RUN] = "dcc run",
        [COMMAND_VERIFY] = "dcc verify",     [COMMAND_TUNE] = "dcc tune",
        [COMMAND_REPORT] = "dcc report",
        [COMMAND_BENCH] = "dcc bench",       [COMMAND_TRAIN] = "dcc train",
        [COMMAND_BUILD] = "dcc build",
        [COMMAND_IMPORT] = "dcc import",     [COMMAND_FMT] = "dcc fmt",
        [COMMAND_OPS] = "dcc ops",
        [COMMAND_DEVICES] = "dcc devices",   [COMMAND_HELP] = "dcc help",
        [COMMAND_PROBE] = "dcc probe",
        [COMMAND_COMPLETION] = "dcc completion",
    };

    return title[id];
}
