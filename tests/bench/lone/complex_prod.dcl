model complex_prod {
  type E = f16;
  input ar : E[1024,1024];
  input ai : E[1024,1024];
  input br : E[1024,1024];
  input bi : E[1024,1024];
  output yr[i,k] = sum(j) (ar[i,j]*br[j,k] - ai[i,j]*bi[j,k]);
  output yi[i,k] = sum(j) (ar[i,j]*bi[j,k] + ai[i,j]*br[j,k]);
}
