/* rt_train_plot.c - the loss over the steps as SVG (rt_train.h), from the
 * lines of JSON, so that a run that went on draws what one that was left alone
 * does.
 *
 * Losses lie between the least and the 98th of a hundred, so that the first
 * steps do not press all others down; more steps than columns are drawn as the
 * mean of a column.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_train.h"

enum {
    WIDTH = 800, HEIGHT = 420, LEFT = 70, RIGHT = 20, TOP = 40, BOTTOM = 50,
    COLUMNS = WIDTH - LEFT - RIGHT, ROWS = HEIGHT - TOP - BOTTOM,
    MOST_CHECKS = 8, NAME = 40
};

typedef struct {
    double step, value;
} RtPoint;

typedef struct {
    char name[NAME]; /* "" for the training loss */
    RtPoint *point;
    size_t n, room;
} RtCurve;

typedef struct {
    RtCurve curve[1 + MOST_CHECKS];
    int n;
    double last_step, low, high;
} RtPlot;

static int rt_add_point(RtCurve *c, double step, double value)
{
    if (c->n == c->room) {
        size_t room = 2 * c->room + 256;
        RtPoint *grown = (RtPoint *)realloc(c->point, room * sizeof *grown);

        if (!grown)
            return 0;
        c->point = grown;
        c->room = room;
    }
    c->point[c->n].step = step;
    c->point[c->n++].value = value;
    return 1;
}

static RtCurve *rt_curve(RtPlot *p, const char *name, size_t n)
{
    for (int i = 1; i < p->n; i++)
        if (strlen(p->curve[i].name) == n &&
            strncmp(p->curve[i].name, name, n) == 0)
            return &p->curve[i];
    if (p->n > MOST_CHECKS || n >= NAME)
        return NULL;
    memcpy(p->curve[p->n].name, name, n);
    return &p->curve[p->n++];
}

/* {"step":9,"validation":{"loss":1.5,"right":0.9}} */
static int rt_read_checks(RtPlot *p, double step, const char *at)
{
    while (*at == '"' || *at == ',') {
        const char *name = at + 1 + (*at == ',');
        size_t n = strcspn(name, "\"");
        RtCurve *c = rt_curve(p, name, n);
        double value;

        if (name[n] != '"' || name[n + 1] != ':')
            return 1;
        at = name + n + 2;
        if (sscanf(at, "%lf", &value) == 1 && c &&
            !rt_add_point(c, step, value))
            return 0;
        at += strcspn(at, ",}");
    }
    return 1;
}

static int rt_read_lines(RtPlot *p, FILE *file)
{
    static const char checks[] = "\"validation\":{", loss[] = "\"loss\":";
    char *line = NULL;
    size_t room = 0;
    int ok = 1;

    p->n = 1;
    while (ok && getline(&line, &room, file) >= 0) {
        const char *at = strstr(line, checks);
        double step, value;

        if (sscanf(line, "{\"step\":%lf", &step) != 1)
            continue;
        p->last_step = step;
        if (at)
            ok = rt_read_checks(p, step, at + sizeof checks - 1);
        else if ((at = strstr(line, loss)) != NULL &&
                 sscanf(at + sizeof loss - 1, "%lf", &value) == 1)
            ok = rt_add_point(&p->curve[0], step, value);
    }
    free(line);
    return ok;
}

/* ---- the scale */

static int rt_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static int rt_find_scale(RtPlot *p)
{
    size_t n = 0, all = 0;
    double *v;

    for (int i = 0; i < p->n; i++)
        all += p->curve[i].n;
    v = (double *)malloc((all + 1) * sizeof *v);
    if (!v)
        return 0;
    for (int i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->curve[i].n; k++)
            v[n++] = p->curve[i].point[k].value;
    qsort(v, n, sizeof *v, rt_ascending);
    p->low = n && v[0] < 0 ? v[0] : 0;
    p->high = n ? v[(n - 1) * 98 / 100] : 1;
    if (p->n > 1 && n && p->high < v[n - 1] && v[n - 1] <= 1)
        p->high = v[n - 1];
    if (!(p->high > p->low))
        p->high = p->low + 1;
    free(v);
    return 1;
}

/* 1, 2 or 5 times a power of ten: at most about six of them in a span. */
static double rt_tick(double span)
{
    double tick = pow(10, floor(log10(span / 6)));

    return span / tick > 30 ? 10 * tick
           : span / tick > 12 ? 5 * tick
           : span / tick > 6 ? 2 * tick
                             : tick;
}

static double rt_x(const RtPlot *p, double step)
{
    return LEFT + COLUMNS * step / (p->last_step > 0 ? p->last_step : 1);
}

static double rt_y(const RtPlot *p, double value)
{
    double at = (value - p->low) / (p->high - p->low);

    return TOP + ROWS * (1 - (at > 1.02 ? 1.02 : at));
}

/* ---- drawing */

typedef struct {
    char *text;
    size_t n, room;
    int failed;
} RtText;

__attribute__((format(printf, 2, 3))) static void
rt_text(RtText *t, const char *format, ...)
{
    char piece[400];
    va_list args;
    size_t n;

    va_start(args, format);
    vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    n = strlen(piece);
    if (t->n + n + 1 > t->room) {
        size_t room = 2 * t->room + sizeof piece;
        char *grown = (char *)realloc(t->text, room);

        t->failed |= !grown;
        if (!grown)
            return;
        t->text = grown;
        t->room = room;
    }
    memcpy(t->text + t->n, piece, n + 1);
    t->n += n;
}

static void rt_draw_axes(RtText *t, const RtPlot *p, const char *title)
{
    const double up = rt_tick(p->high - p->low);
    const double along = rt_tick(p->last_step > 0 ? p->last_step : 1);

    rt_text(t, "<text x=\"%d\" y=\"24\" font-size=\"15\">%.100s</text>\n",
            LEFT, title);
    for (double v = ceil(p->low / up) * up; v <= p->high * (1 + 1e-9);
         v += up)
        rt_text(t, "<path d=\"M%d %.1fh%d\" stroke=\"#ddd\"/>"
                   "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g"
                   "</text>\n",
                LEFT, rt_y(p, v), COLUMNS, LEFT - 8, rt_y(p, v) + 4,
                fabs(v) < up / 2 ? 0 : v);
    for (double s = 0; s <= p->last_step * (1 + 1e-9); s += along)
        rt_text(t, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.9g"
                   "</text>\n",
                rt_x(p, s), HEIGHT - BOTTOM + 20, s);
    rt_text(t, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n",
            LEFT + COLUMNS / 2, HEIGHT - 10);
}

/* A point for each column that has any: the mean of its values. */
static void rt_draw_curve(RtText *t, const RtPlot *p, const RtCurve *c,
                          const char *colour, int number)
{
    const double wide = p->last_step / COLUMNS;
    size_t i = 0;

    if (!c->n)
        return;
    rt_text(t, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" d=\"",
            colour, number ? "2" : "1");
    while (i < c->n) {
        const size_t first = i;
        double step = 0, value = 0;

        for (; i < c->n &&
               (i == first || c->point[i].step - c->point[first].step < wide);
             i++) {
            step += c->point[i].step;
            value += c->point[i].value;
        }
        rt_text(t, "%s%.1f %.1f", first ? "L" : "M",
                rt_x(p, step / (double)(i - first)),
                rt_y(p, value / (double)(i - first)));
    }
    rt_text(t, "\"/>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\" "
               "fill=\"%s\">%s%s %.4g</text>\n",
            WIDTH - RIGHT - 4, TOP + 14 + 16 * number, colour,
            number ? "validation " : "loss", c->name,
            c->point[c->n - 1].value);
}

/* How a picture begins. */
#define RT_HEAD                                                              \
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "  \
    "font-family=\"sans-serif\" "

static void rt_draw_all(RtText *t, const RtPlot *p, const char *title)
{
    static const char *const colour[] = {"#4878a8", "#c04030", "#308040",
                                         "#806030", "#7050a0", "#208080",
                                         "#a03070", "#606060", "#b08000"};

    rt_text(t, RT_HEAD "font-size=\"12\">\n"
               "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    rt_draw_axes(t, p, title);
    for (int i = 0; i < p->n; i++)
        rt_draw_curve(t, p, &p->curve[i], colour[i], i);
    rt_text(t, "</svg>\n");
}

int rt_plot_may_go(const char *path)
{
    char head[200], begins[200] = {0};
    FILE *file = fopen(path, "r");
    int n = snprintf(head, sizeof head, RT_HEAD, WIDTH, HEIGHT);
    size_t got = file ? fread(begins, 1, (size_t)n, file) : 0;

    if (file)
        fclose(file);
    return !got || strcmp(begins, head) == 0;
}

dcc_status rt_plot(const char *lines, const char *path, const char *title)
{
    FILE *file = fopen(lines, "r");
    dcc_status status = DCC_OK;
    RtPlot p;
    RtText t;
    int ok = file != NULL;

    memset(&p, 0, sizeof p);
    memset(&t, 0, sizeof t);
    ok = ok && rt_read_lines(&p, file) && rt_find_scale(&p);
    if (ok)
        rt_draw_all(&t, &p, title);
    if (file)
        fclose(file);
    if (!ok || t.failed)
        status = dcc_fail(DCC_ERR_MEMORY, "%s: cannot draw: %s", path,
                          file ? "out of memory" : lines);
    else
        status = dcc_write_text(path, t.text);
    for (int i = 0; i < p.n; i++)
        free(p.curve[i].point);
    free(t.text);
    return status;
}
