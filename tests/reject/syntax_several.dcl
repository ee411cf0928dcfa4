model m {
  input : f32[4];
  param w f32[4];
  h = ;
  if x { h = 3; }
  output y = h +;
}
