#!/usr/bin/env python3
"""Random programs in the C of kernels, before and after the passes of
compiler/emit/tree_pass.h: in every thread of every block both call use() with
the same values. Prints the first program for which they do not.

    gcc -O1 -Icompiler tests/fuzz/tree_pass.c BUILD/libdcc.a -lm -o tree_pass
    for s in $(seq 100); do tests/fuzz/random_trees.py ./tree_pass $s; done
"""
import os
import random
import re
import subprocess
import sys
import tempfile
PASSES = os.path.abspath(sys.argv[1])
seed = int(sys.argv[2])
N = int(sys.argv[3]) if len(sys.argv) > 3 else 60
R = random.Random(seed)
os.chdir(tempfile.mkdtemp())
NAMES = ['a', 'b', 'c', 'i', 'j', 'm', 'n']


class Generator:

    def __init__(s):
        s.out = []
        s.lam = 0
        s.known = []

    def asked(s, sc):
        """A condition that others asked before, mostly."""
        old = [c for names, c in s.known if names <= set(sc)]
        if old and R.random() < 0.85:
            return R.choice(old[-2:])
        names = R.sample(list(sc.keys()), min(len(sc), 2)) + ['3', 'FOUR']
        c = '%s + %s %s %s' % (names[0], names[1], R.choice(['<', '>=', '==']), R.choice([2, 5, 9]))
        s.known.append((set(names) & set(sc), c))
        return c

    def expr(s, sc, d=0):
        r = R.random()
        vs = list(sc.keys())
        if d > 3 or r < 0.35:
            k = R.random()
            if vs and k < 0.6:
                return R.choice(vs)
            if k < 0.7:
                return R.choice(['ONE', 'FOUR', 'EIGHT'])
            if k < 0.85:
                return '(int)threadIdx.x' if R.random() < 0.5 else '(int)blockIdx.x'
            return str(R.choice([0, 0, 1, 1, 2, 3, 8]))
        if r < 0.67:
            op = R.choice(['+', '+', '-', '*', '*', '/', '%', '^', '|', '&'])
            l = s.expr(sc, d + 1)
            if op in '/%':
                rr = R.choice(['2', '3', 'FOUR', '1', 'ONE', '8'])
            else:
                rr = s.expr(sc, d + 1)
            if op == '*':
                rr = R.choice(['2', 'FOUR', 'ONE', '0', rr])
            e = '%s %s %s' % (s.par(l, op), op, s.par(rr, op))
            return '(%s)' % e if R.random() < 0.3 else e
        if r < 0.82:
            c = s.asked(sc) if R.random() < 0.6 else s.cond(sc, d + 1)
            return '(%s ? %s : %s)' % (c, s.expr(sc, d + 1), s.expr(sc, d + 1))
        if r < 0.9:
            return R.choice(['min', 'max']) + '(%s, %s)' % (s.expr(sc, d + 1), s.expr(sc, d + 1))
        if r < 0.95:
            return 'arr[(%s) & 7]' % s.expr(sc, d + 1)
        return '-(%s)' % s.expr(sc, d + 1)

    def par(s, e, op):
        return '(%s)' % e if ' ' in e and R.random() < 0.9 or e[0] == '-' else e

    def cond(s, sc, d=0):
        r = R.random()
        if r < 0.7 or d > 2:
            l = s.expr(sc, d + 1)
            x = s.expr(sc, d + 1)
            return '(%s) %s (%s)' % (l, R.choice(['<', '>', '<=', '>=', '==', '!=']), x) if R.random() < 0.5 else '%s %s %s' % (R.choice(list(sc.keys()) + ['(int)threadIdx.x', 'ONE']), R.choice(['<', '>=', '<', '==']), R.choice(['ONE', 'FOUR', 'EIGHT', '3', '100', '0']))
        if r < 0.85:
            return '%s %s %s' % (s.cond(sc, d + 2), '&&', s.cond(sc, d + 2))
        if r < 0.95:
            return '(%s || %s)' % (s.cond(sc, d + 2), s.cond(sc, d + 2))
        return '!(%s)' % s.cond(sc, d + 2)

    def block(s, sc, d, ind, loop, n=None, params=()):
        sc = dict(sc)
        here = set(params)
        p = '    ' * ind
        for _ in range(n or R.randint(1, 4)):
            r = R.random()
            if r < 0.3:
                name = R.choice(NAMES)
                if name in here:
                    continue
                if R.random() < 0.5:
                    s.out.append('%sconst int %s = %s;' % (p, name, s.expr({k: v for k, v in sc.items() if k != name}, 1)))
                    sc[name] = 'const'
                else:
                    s.out.append('%sint %s = %s;' % (p, name, R.choice([s.expr({k: v for k, v in sc.items() if k != name}, 1), '0', '1', '5'])))
                    sc[name] = 'int'
                here.add(name)
            elif r < 0.45:
                s.out.append('%suse(%s);' % (p, s.expr(sc)))
            elif r < 0.6:
                ms = [k for k, v in sc.items() if v == 'int']
                if not ms:
                    continue
                m = R.choice(ms)
                s.out.append(p + R.choice(['%s = %s;' % (m, s.expr(sc)), '%s += %s;' % (m, s.expr(sc)), '++%s;' % m, 'bump(%s);' % m, '%s ^= 1;' % m]))
                if R.random() < 0.5:
                    s.out.append('%s%s &= 1023;' % (p, m))
            elif r < 0.75 and d < 4:
                s.out.append('%sif (%s) {' % (p, s.cond(sc)))
                if loop and R.random() < 0.35:
                    s.out.append(p + '    ' + R.choice(['continue;', 'continue;', 'break;']))
                else:
                    s.block(sc, d + 1, ind + 1, loop)
                if R.random() < 0.3:
                    s.out.append('%s} else {' % p)
                    s.block(sc, d + 1, ind + 1, loop)
                s.out.append('%s}' % p)
            elif r < 0.92 and d < 4:
                v = R.choice(NAMES)
                init = R.choice(['0', '0', '1', 'threadIdx.x', 'blockIdx.x', 'FOUR', '(int)threadIdx.x / 2'])
                lim = R.choice(['ONE', '1', '2', 'FOUR', 'EIGHT', '3', '7'])
                st = R.choice(['++%s', '%s += 2', '%s += EIGHT', '%s += gridDim.x', '%s += blockDim.x']) % v
                if R.random() < 0.3:
                    s.out.append(p + '#pragma unroll')
                if sc and R.random() < 0.2:
                    lim += ' && ' + s.asked(sc)
                s.out.append('%sfor (int %s = %s; %s < %s; %s) {' % (p, v, init, v, lim, st))
                sc2 = dict(sc)
                sc2[v] = 'loop'
                s.block(sc2, d + 1, ind + 1, True, params=(v,))
                s.out.append('%s}' % p)
            elif d < 3:
                s.lam += 1
                f = 'f%d' % s.lam
                a = R.choice(NAMES)
                s.out.append('%sauto %s = [&](int %s) {' % (p, f, a))
                sc2 = dict(sc)
                sc2[a] = 'int'
                s.block(sc2, d + 2, ind + 1, False, params=(a,))
                s.out.append('%s};' % p)
                if R.random() < 0.8:
                    s.out.append('%s%s(%s);' % (p, f, s.expr(sc)))
        return sc
progs = []
for _ in range(N):
    g = Generator()
    sc = g.block({}, 0, 0, False, R.randint(3, 7))
    g.out.append('use(%s);' % (' + '.join(sc.keys()) or '0'))
    progs.append('\n'.join(g.out) + '\n')
r = subprocess.run([PASSES], input='\x01'.join(progs), capture_output=True, text=True)
if r.returncode:
    print('DRIVER', r.returncode, r.stderr)
    open('in.txt', 'w').write('\x01'.join(progs))
    sys.exit(1)
after = r.stdout.split('\x01')[:-1]
assert len(after) == N
H = '#include <vector>\n#include <algorithm>\n#include <cstdio>\nusing std::vector; static vector<long> logv; static int arr[8]={5,1,4,2,8,0,3,7};\nstatic void use(long x){logv.push_back(x); if(logv.size()>200000) throw 1;} static void bump(int &x){x=(x*3+1)&255;}\nstatic int min(int a,int b){return a<b?a:b;} static int max(int a,int b){return a>b?a:b;}\nstruct D{unsigned x;}; static D threadIdx,blockIdx,gridDim={4},blockDim={8}; enum{ONE=1,FOUR=4,EIGHT=8};\n'
with open('t.cpp', 'w') as f:
    f.write(H)
    for k, (b, a) in enumerate(zip(progs, after)):
        f.write('static void b%d(){\n%s}\nstatic void a%d(){\n%s}\n' % (k, b, k, a))
    f.write('int main(){int bad=0;\n')
    for k in range(N):
        f.write('for(unsigned t=0;t<8;t++)for(unsigned b=0;b<4;b++){threadIdx.x=t;blockIdx.x=b;logv.clear();b%d();auto x=logv;logv.clear();a%d();if(x!=logv){printf("BAD %d t%%u b%%u\\n",t,b);bad++;t=9;break;}}\n' % (k, k, k))
    f.write('printf("%d bad\\n",bad);}\n')
c = subprocess.run(['g++', '-w', '-O0', '-fwrapv', '-std=c++17', '-o', 't', 't.cpp'], capture_output=True, text=True)
if c.returncode:
    print('COMPILE', c.stderr[:600])
    k = int(re.search('void a(\\d+)', c.stderr).group(1)) if re.search('void a(\\d+)', c.stderr) else 0
    print(progs[k])
    print('---- after')
    print(after[k])
    sys.exit(2)
o = subprocess.run(['timeout', '60', './t'], capture_output=True, text=True).stdout
for l in o.split('\n'):
    if l.startswith('BAD'):
        k = int(l.split()[1])
        print(l)
        print(progs[k])
        print('---- after')
        print(after[k])
        break
print(seed, o.strip().split('\n')[-1], sum((a != b for a, b in zip(after, progs))), 'changed')
