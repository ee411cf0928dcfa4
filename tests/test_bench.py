"""What tests/bench draws and reads, without a GPU: the hold-out, variants.

Prints TAP; DCC_BIN is the dcc to ask.
"""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "bench"), os.path.join(HERE, "gpu")]
import bench                # noqa: E402
import ranking              # noqa: E402
import shapes as spec       # noqa: E402

CLASSES = {"gemm": 20, "conv": 20, "dw": 8, "f32": 8, "tf32": 8}


def drawn():
    """Enough of each class from any seed, none twice or in the table, the same
    each time."""
    known = {n for row in spec.table() for n in row.shapes}
    for seed in range(0, 1 << 32, (1 << 32) // 97):
        text = f"{seed:08x}"
        found = spec.held_out(text)
        assert found == spec.held_out(text)
        names = [n for all_ in found.values() for n in all_]
        assert len(names) >= 60 and len(set(names)) == len(names), names
        assert not known & set(names)
        for key, least in CLASSES.items():
            assert len(found[key]) >= least, (text, key)
        for name in found["dw"]:
            assert spec.Shape(name).bytes >= 16e6, name
    assert found != spec.held_out("00000000")


def options(work, *argv):
    sys.argv = ["ranking.py", "--dcc", os.environ["DCC_BIN"], *argv]
    o = ranking.options()
    o.work = work
    return o


def offered(work):
    """dcc has variants of each of a seed's shapes, in one kernel."""
    builder = bench.Builder(options(work))
    for all_ in spec.held_out("01234567").values():
        for name in all_:
            status, text = builder.dcc(name, "--dump=variants")
            assert status == 0, (name, text)
            _, choice, found = bench.offers(text)
            assert choice in [v["text"] for v in found], name


def ranked(work):
    """A group whose times are what is predicted has no loss and Spearman's
    correlation of 1; 48 variants are measured, 16 of them the first."""
    o = options(work, "--groups", "gemm.f16.128x768x768")
    status, text = bench.Builder(o).dcc(o.groups[0], "--dump=variants")
    assert status == 0, text
    _, choice, found = bench.offers(text)
    rows = ranking.pick(found, choice, "seed")
    assert rows[:16] == found[:16] and len(rows) == 48
    assert rows == ranking.pick(found, choice, "seed")
    case = {"variants": [dict(text=v["text"], us=v["predicted_us"])
                         for v in rows]}
    now = {v["text"]: (v["predicted_us"], v["pul_us"]) for v in found}
    loss, every, near, *pul = ranking.judge_group(case, choice, now)
    assert loss < 1.05 and every > 0.999 and near > 0.999, (loss, every, near)
    assert pul[1] < 0.95, pul


def split_rows(work):
    """Rows that begin inside a sector of the L2 cost TMA time: four blocks
    share them, and more is predicted than for aligned ones, of the tile that
    those have too."""
    builder, offers = bench.Builder(options(work)), {}
    for k in (2520, 2528):
        status, text = builder.dcc(f"gemm.f16.2840x1672x{k}",
                                   "--dump=variants")
        assert status == 0, text
        columns = "cluster=4 split=1\n" in text
        assert columns == (k % 16 != 0), k
        _, best, found = bench.offers(text)
        offers[k] = {v["text"]: v["predicted_us"] for v in found}
    assert offers[2520][best] > 1.1 * offers[2528][best], best
    assert min(offers[2520].values()) > offers[2528][best], best


def short_rows(work):
    """Rows that end inside a box cost each block that gets them: sharing is
    no gain; 48 of 64 channels no reason against TMA."""
    builder = bench.Builder(options(work))
    status, text = builder.dcc("conv.f16.n4c96h40k96r3s1", "--dump=variants")
    assert status == 0, text
    us = {v["text"]: v["predicted_us"] for v in bench.offers(text)[2]}
    form = ("contract_wgmma, bm=64 bn=96 stages=10 consumers=1 "
            "schedule=cooperative cluster={} split=1")
    assert us[form.format(1)] <= us[form.format(2)]
    status, text = builder.dcc("conv.f16.n4c48h160k96r3s2", "--dump=variants")
    assert status == 0 and "wgmma" in bench.offers(text)[1], text


def main():
    bad = 0
    tests = drawn, offered, ranked, split_rows, short_rows
    with tempfile.TemporaryDirectory() as work:
        for i, test in enumerate(tests):
            try:
                test(*([work] if test is not drawn else []))
                print(f"ok {i + 1} - {test.__name__}")
            except (AssertionError, ValueError) as e:
                bad = 1
                print(f"not ok {i + 1} - {test.__name__}\n# {e}")
    print(f"1..{len(tests)}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
