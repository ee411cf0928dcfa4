// DLRM for Criteo's advertisements (Kaggle), the weight names of facebookresearch/dlrm: 26 tables,
// of which none has more than V rows here; what they say and the numbers meet in pairs
block dense(x: T[B, D]; out) -> y {
  param w : T[out, D] = "weight";  param b : T[out] = "bias";
  y = linear(x, w, b);
}
block lookup(id: i32[B]; rows, width, type E = f32) -> y: E[B, width] {
  param w : E[rows, width] = "weight";
  y = embedding(id, w);
}
model dlrm {
  dim B = 128;  dim V = 1000000;  dim D = 16;  type E = f16;
  dim rows = [1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992,
              5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572];
  input x   : E[B, 13];
  input ids : i32[B, 26];
  h = relu(dense(x, out = 512) as "bot_l.0");
  h = relu(dense(h, out = 256) as "bot_l.2");
  h = relu(dense(h, out = 64) as "bot_l.4");
  h = relu(dense(h, out = D) as "bot_l.6");
  z[b, 0, d] = h[b, d];
  for t in 0..26 {
    id[b] = ids[b, t];
    e = lookup(id, rows = min(rows[t], V), width = D, E = E) as "emb_l.{t}";
    z[b, t + 1, d] = e[b, d];
  }
  p[b, i in 0..27, j in 0..27] = sum(d) z[b, i, d] * z[b, j, d];
  u[b, k in 0..D] = h[b, k];
  for i in 1..27 { u[b, s in D + i * (i - 1) / 2..D + i * (i + 1) / 2] = p[b, i, s - D - i * (i - 1) / 2]; }
  u = relu(dense(u, out = 512) as "top_l.0");
  u = relu(dense(u, out = 256) as "top_l.2");
  output y = sigmoid(dense(u, out = 1) as "top_l.4");
}
