/* rt_train_options.c - what dcc train is asked for, and which models do it
 * (rt_train.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_main.h"
#include "rt_train.h"

/* ---- options */

static int rt_train_usage(const RtTrainOptions *o, const char *text,
                          const char *which)
{
    fprintf(stderr, "%s: error: %s%s\n", o->program, text, which);
    fprintf(stderr,
            "usage: %s --train --data FILE --steps N --save FILE [--resume]\n"
            "          [--model NAME] [--weights FILE] [--seed N] [--every N]\n"
            "          [--validate FILE [--validate-with MODEL]]\n"
            "          [--set INPUT=VALUE]...\n", o->program);
    return 2;
}

static int rt_whole(const char *text, int64_t least, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && !*end && !errno && *out >= least &&
           *out <= 1000000000000;
}

/* 0, or the exit status. */
static int rt_train_option(RtTrainOptions *o, const char *name,
                           const char *value)
{
    const struct {
        const char *name;
        const char **at;
    } files[] = {{"--model", &o->model},       {"--weights", &o->weights},
                 {"--data", &o->data},         {"--save", &o->save},
                 {"--validate", &o->validate}, {"--validate-with", &o->with}};
    int64_t number;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(name, files[i].name) == 0) {
            *files[i].at = value;
            return 0;
        }
    if (strcmp(name, "--set") == 0) {
        if (o->n_set == RT_MAX_SETS || !strchr(value, '='))
            return rt_train_usage(o, "--set takes INPUT=VALUE: ", value);
        o->set[o->n_set++] = value;
        return 0;
    }
    if (strcmp(name, "--seed") == 0) {
        o->seed_given = 1;
        return rt_parse_seed(value, &o->seed)
                   ? 0 : rt_train_usage(o, "not a number that fits ", name);
    }
    if (!rt_whole(value, 1, &number))
        return rt_train_usage(o, "not a number that fits ", name);
    if (strcmp(name, "--steps") == 0) {
        o->steps = number;
    } else if (strcmp(name, "--every") == 0) {
        o->every = number;
    } else {
        return rt_train_usage(o, "unknown argument ", name);
    }
    return 0;
}

int rt_train_options(RtTrainOptions *o, int argc, char **argv)
{
    const char *must[] = {o->data, o->save};
    int bad;

    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--resume") == 0) {
            o->resume = 1;
            continue;
        }
        if (i + 1 == argc)
            return rt_train_usage(o, "a value must follow ", argv[i]);
        bad = rt_train_option(o, argv[i], argv[i + 1]);
        if (bad)
            return bad;
        i++;
    }
    must[0] = o->data;
    must[1] = o->save;
    if (!must[0] || !must[1] || !o->steps)
        return rt_train_usage(o, "wants ", "--data, --steps and --save");
    if (o->with && !o->validate)
        return rt_train_usage(o, "--validate-with wants ", "--validate");
    if (strcmp(o->save, "-") == 0)
        return rt_train_usage(o, "the state is written again and again: "
                              "--save wants a file", "");
    return 0;
}

static int rt_has_input(const dcc_model_desc *d, const char *name, size_t n)
{
    for (int i = 0; d && i < d->n_inputs; i++)
        if (strncmp(d->inputs[i].name, name, n) == 0 && !d->inputs[i].name[n])
            return 1;
    return 0;
}

dcc_status rt_check_sets(const RtTrainOptions *o, const dcc_model_desc *trained,
                         const dcc_model_desc *checks)
{
    for (int i = 0; i < o->n_set; i++) {
        const size_t n = strcspn(o->set[i], "=");

        if (!rt_has_input(trained, o->set[i], n) &&
            !rt_has_input(checks, o->set[i], n))
            return dcc_fail(DCC_ERR_ARG, "--set %s: %s has no input of that "
                            "name", o->set[i], trained->name);
    }
    return DCC_OK;
}

/* ---- which models */

static int rt_has_param(const dcc_model_desc *d, const char *name)
{
    for (int i = 0; i < d->n_params; i++)
        if (strcmp(d->params[i].name, name) == 0)
            return 1;
    return 0;
}

static int rt_checks(const dcc_model_desc *d, const dcc_model_desc *trained)
{
    if (d->trains || !d->n_params)
        return 0;
    for (int i = 0; i < d->n_params; i++)
        if (!rt_has_param(trained, d->params[i].name))
            return 0;
    return 1;
}

dcc_status rt_pick(const dcc_model_desc *const *models, int n,
                   const char *name, const dcc_model_desc *trained,
                   const dcc_model_desc **out)
{
    int found = 0;

    for (int i = 0; i < n; i++) {
        const dcc_model_desc *d = models[i];

        if (name ? strcmp(d->name, name) == 0
                 : trained ? rt_checks(d, trained) : d->trains) {
            *out = d;
            found++;
        }
    }
    if (name && !found)
        return dcc_fail(DCC_ERR_ARG, "there is no model '%s'", name);
    if (name && !trained && !(*out)->trains)
        return dcc_fail(DCC_ERR_ARG,
                        "model %s does not train: it assigns no parameter in "
                        "'for w in params'", name);
    if (found == 1)
        return DCC_OK;
    if (trained)
        return dcc_fail(DCC_ERR_ARG,
                        "--validate: %s model has parameters of %s and does "
                        "not train%s", found ? "more than one" : "no",
                        trained->name,
                        found ? ": --validate-with=NAME picks one" : "");
    return dcc_fail(DCC_ERR_ARG, "%s",
                    found ? "several models train: --model=NAME picks one"
                          : "no model trains: none assigns its parameters in "
                            "'for w in params'");
}
