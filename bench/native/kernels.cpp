// The kernels of kernels.bench.ts in C++. Each question is run for so many passes; the time of each pass, in
// nanoseconds, is printed on a line of its own.
//
//     kernels mf32 32 20000 9        question, size, iterations, passes
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

template <class T> struct Factorization {
  int K, rows;
  std::vector<T> W, H;
  std::vector<int32_t> users, movies;
  std::vector<double> stars;
  double loss = 0;
  Factorization(int K, int count, int rows) : K(K), rows(rows), W(rows * K), H(rows * K) {
    for (size_t i = 0; i < W.size(); i++) W[i] = T(0.01 * double(i % 17)), H[i] = T(0.01 * double(i % 13));
    for (int i = 0; i < count; i++) users.push_back(i / rows), movies.push_back(i % rows), stars.push_back(i % 5);
  }
  void pass() {
    const T rate = T(0.001), penalty = T(0.08);
    for (size_t i = 0; i < users.size(); i++) {
      T *w = &W[users[i] * K], *h = &H[movies[i] * K];
      T predicted = 0;
      for (int k = 0; k < K; k++) predicted += w[k] * h[k];
      const T error = T(stars[i]) - predicted;
      for (int k = 0; k < K; k++) {
        const T wk = w[k], hk = h[k];
        w[k] = wk + rate * (error * hk - penalty * wk);
        h[k] = hk + rate * (error * wk - penalty * hk);
      }
      loss += double(error) * double(error);
    }
  }
};

static std::vector<double> filled(int n, int modulus) {
  std::vector<double> a(size_t(n) * n);
  for (size_t i = 0; i < a.size(); i++) a[i] = 0.01 * double(i % modulus);
  return a;
}

struct Product {
  int n;
  std::vector<double> A, B, C;
  explicit Product(int n) : n(n), A(filled(n, 17)), B(filled(n, 13)), C(size_t(n) * n) {}
  void pass() {
    for (int i = 0; i < n; i++)
      for (int k = 0; k < n; k++) {
        const double a = A[i * n + k];
        for (int j = 0; j < n; j++) C[i * n + j] += a * B[k * n + j];
      }
  }
};

struct Jacobi {
  int n;
  std::vector<double> A, B;
  explicit Jacobi(int n) : n(n), A(filled(n, 17)), B(size_t(n) * n) {}
  void pass() {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++) B[i * n + j] = 0.25 * (A[(i - 1) * n + j] + A[(i + 1) * n + j] + A[i * n + j - 1] + A[i * n + j + 1]);
  }
};

template <class Work> static void measure(Work work, int passes) {
  for (int p = 0; p < passes; p++) {
    const auto started = std::chrono::steady_clock::now();
    work.pass();
    const auto took = std::chrono::steady_clock::now() - started;
    std::printf("%lld\n", (long long)std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
  }
}

int main(int argc, char **argv) {
  if (argc < 5) return 1;
  const char *question = argv[1];
  const int size = std::atoi(argv[2]), count = std::atoi(argv[3]), passes = std::atoi(argv[4]);
  if (!std::strcmp(question, "mf32")) measure(Factorization<float>(size, count, 100), passes);
  else if (!std::strcmp(question, "mf64")) measure(Factorization<double>(size, count, 100), passes);
  else if (!std::strcmp(question, "product")) measure(Product(size), passes);
  else if (!std::strcmp(question, "jacobi")) measure(Jacobi(size), passes);
  else return 1;
}
