/* driver_train.c - dcc train: the built program does all of it. */
#include "command/driver_priv.h"

static int train(Build *b)
{
    const Driver *o = b->o;
    Command c = {.name = "dcc train"};

    command_add(&b->work, &c, work_path(&b->work, "program"));
    command_add(&b->work, &c, "--train");
    driver_option(b, &c, "--model", o->model);
    driver_option(b, &c, "--weights", o->weights);
    driver_option(b, &c, "--data", o->data);
    driver_number(b, &c, "--steps", o->steps);
    driver_option(b, &c, "--save", o->save);
    driver_option(b, &c, "--validate", o->validate);
    driver_option(b, &c, "--validate-with", o->validate_with);
    if (o->every)
        driver_number(b, &c, "--every", o->every);
    if (o->seeded)
        driver_number(b, &c, "--seed", o->seed);
    for (int i = 0; i < o->n_set; i++)
        driver_option(b, &c, "--set", o->set[i]);
    if (o->resume)
        command_add(&b->work, &c, "--resume");
    return driver_verdict(b, work_run(&b->work, &c, NULL));
}

int driver_train(const Driver *o)
{
    Build b;

    if (!driver_open(&b, o))
        return MACHINE;
    int status = driver_built(&b, "program", driver_start(&b, "program"));
    if (!status)
        status = train(&b);
    driver_close(&b);
    return status;
}
