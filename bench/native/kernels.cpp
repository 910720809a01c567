// The questions of kernels.bench.ts in C++, as a user would write them. Where iterations depend on each other the parallel
// form is the usual one: tiles along diagonals, or stripes of rows and columns that rotate. Without -fopenmp all are serial.
#include "bench.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#ifdef _OPENMP
#include <omp.h>
static int threads() { return omp_get_max_threads(); }
#else
static int threads() { return 1; }
#endif

template <class T> struct Factorization {
  int K, users, movies;
  std::vector<T> W, H;
  std::vector<int32_t> user, movie;
  std::vector<double> stars;
  std::vector<std::vector<int>> blocks; // of threads x threads, row by row
  Factorization(int K, int users, int movies, int perUser)
      : K(K), users(users), movies(movies), W(filled<T>(size_t(users) * K, 17)), H(filled<T>(size_t(movies) * K, 13)) {
    std::vector<int> of(perUser);
    for (int u = 0; u < users; u++) {
      for (int j = 0; j < perUser; j++) of[j] = perUser == movies ? j : int((scattered(u, movies) + int64_t(j) * 77777) % movies);
      std::sort(of.begin(), of.end());
      for (const int m : of) stars.push_back(double(user.size() % 5)), user.push_back(u), movie.push_back(m);
    }
    const int T2 = threads();
    blocks.resize(T2 * T2);
    for (size_t i = 0; i < user.size(); i++) blocks[int64_t(user[i]) * T2 / users * T2 + int64_t(movie[i]) * T2 / movies].push_back(int(i));
  }
  inline void rating(size_t i) {
    const T rate = T(0.001), penalty = T(0.08);
    T *w = &W[size_t(user[i]) * K], *h = &H[size_t(movie[i]) * K];
    T predicted = 0;
    for (int k = 0; k < K; k++) predicted += w[k] * h[k];
    const T error = T(stars[i]) - predicted;
    for (int k = 0; k < K; k++) {
      const T wk = w[k], hk = h[k];
      w[k] = wk + rate * (error * hk - penalty * wk);
      h[k] = hk + rate * (error * wk - penalty * hk);
    }
  }
  void pass() {
    const int T2 = threads();
    if (T2 == 1) {
      for (size_t i = 0; i < user.size(); i++) rating(i);
      return;
    }
    for (int step = 0; step < T2; step++) {
#pragma omp parallel for schedule(static, 1)
      for (int s = 0; s < T2; s++)
        for (const int i : blocks[s * T2 + (s + step) % T2]) rating(i);
    }
  }
  double sum() { return sumOf(W) + sumOf(H); }
};

struct Product {
  int n;
  std::vector<double> A, B, C;
  explicit Product(int n) : n(n), A(filled<double>(size_t(n) * n, 17)), B(filled<double>(size_t(n) * n, 13)), C(size_t(n) * n) {}
  void pass() {
#pragma omp parallel for
    for (int i = 0; i < n; i++)
      for (int k = 0; k < n; k++) {
        const double a = A[i * n + k];
        for (int j = 0; j < n; j++) C[i * n + j] += a * B[k * n + j];
      }
  }
  double sum() { return sumOf(C); }
};

struct Jacobi {
  int n;
  std::vector<double> A, B;
  explicit Jacobi(int n) : n(n), A(filled<double>(size_t(n) * n, 17)), B(size_t(n) * n) {}
  void pass() {
#pragma omp parallel for
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++) B[i * n + j] = 0.25 * (A[(i - 1) * n + j] + A[(i + 1) * n + j] + A[i * n + j - 1] + A[i * n + j + 1]);
  }
  double sum() { return sumOf(B); }
};

struct GaussSeidel {
  int n, width;
  std::vector<double> A;
  explicit GaussSeidel(int n) : n(n), width(n + 2), A(filled<double>(size_t(n + 2) * (n + 2), 17)) {}
  void tile(int top, int bottom, int left, int right) {
    for (int i = top + 1; i <= bottom; i++)
      for (int j = left + 1; j <= right; j++)
        A[i * width + j] = 0.25 * (A[(i - 1) * width + j] + A[(i + 1) * width + j] + A[i * width + j - 1] + A[i * width + j + 1]);
  }
  void pass() {
    if (threads() == 1) return tile(0, n, 0, n);
    wavefront(n, n, 128, [this](int top, int bottom, int left, int right) { tile(top, bottom, left, right); });
  }
  double sum() { return sumOf(A); }
};

struct SmithWaterman {
  int n, width;
  std::vector<int32_t> H;
  std::vector<uint8_t> s, t;
  explicit SmithWaterman(int n) : n(n), width(n + 1), H(size_t(n + 1) * (n + 1)), s(n), t(n) {
    for (int i = 0; i < n; i++) s[i] = uint8_t(scattered(i, 4)), t[i] = uint8_t(scattered(i + n, 4));
  }
  void tile(int top, int bottom, int left, int right) {
    for (int i = top; i < bottom; i++)
      for (int j = left; j < right; j++) {
        const int match = H[i * width + j] + (s[i] == t[j] ? 3 : -3);
        const int gap = std::max(H[i * width + j + 1], H[(i + 1) * width + j]) - 2;
        H[(i + 1) * width + j + 1] = std::max({0, match, gap});
      }
  }
  void pass() {
    if (threads() == 1) return tile(0, n, 0, n);
    wavefront(n, n, 128, [this](int top, int bottom, int left, int right) { tile(top, bottom, left, right); });
  }
  double sum() { return sumOf(H); }
};

// Each sample needs the weights that the samples before it left: serial.
struct LogisticRegression {
  static constexpr int PER_SAMPLE = 16;
  int samples, features;
  std::vector<int32_t> feature;
  std::vector<double> value, label, weight;
  LogisticRegression(int samples, int features)
      : samples(samples), features(features), feature(size_t(samples) * PER_SAMPLE), value(filled<double>(size_t(samples) * PER_SAMPLE, 101)), label(samples), weight(features) {
    for (size_t i = 0; i < feature.size(); i++) feature[i] = int32_t(scattered(uint32_t(i), features));
    for (int s = 0; s < samples; s++) label[s] = double(scattered(s, 2));
  }
  void pass() {
    for (int s = 0; s < samples; s++) {
      double margin = 0;
      for (int k = s * PER_SAMPLE; k < (s + 1) * PER_SAMPLE; k++) margin += weight[feature[k]] * value[k];
      const double error = label[s] - 1 / (1 + std::exp(-margin));
      for (int k = s * PER_SAMPLE; k < (s + 1) * PER_SAMPLE; k++) weight[feature[k]] += 0.1 * error * value[k];
    }
  }
  double sum() { return sumOf(weight); }
};

struct KMeans {
  static constexpr int CENTRES = 16, AXES = 8;
  int points;
  std::vector<double> point, centre, total;
  std::vector<int32_t> nearest, count;
  explicit KMeans(int points) : points(points), point(size_t(points) * AXES), centre(CENTRES * AXES), total(CENTRES * AXES), nearest(points), count(CENTRES) {
    for (size_t i = 0; i < point.size(); i++) point[i] = double(scattered(uint32_t(i), 256));
    for (size_t i = 0; i < centre.size(); i++) centre[i] = point[i];
  }
  void pass() {
#pragma omp parallel for
    for (int p = 0; p < points; p++) {
      double nearestSquare = INFINITY;
      int best = 0;
      for (int c = 0; c < CENTRES; c++) {
        double square = 0;
        for (int a = 0; a < AXES; a++) {
          const double d = point[p * AXES + a] - centre[c * AXES + a];
          square += d * d;
        }
        if (square < nearestSquare) nearestSquare = square, best = c;
      }
      nearest[p] = best;
    }
    std::fill(total.begin(), total.end(), 0), std::fill(count.begin(), count.end(), 0);
    double *const sums = total.data();
    int32_t *const counts = count.data();
#pragma omp parallel for reduction(+ : sums[ : CENTRES * AXES], counts[ : CENTRES])
    for (int p = 0; p < points; p++) {
      for (int a = 0; a < AXES; a++) sums[nearest[p] * AXES + a] += point[p * AXES + a];
      counts[nearest[p]]++;
    }
    for (int c = 0; c < CENTRES; c++)
      for (int a = 0; a < AXES; a++)
        if (count[c] > 0) centre[c * AXES + a] = total[c * AXES + a] / count[c];
  }
  double sum() { return sumOf(centre); }
};

struct Bodies {
  int n;
  std::vector<double> place, speed;
  explicit Bodies(int n) : n(n), place(size_t(n) * 3), speed(size_t(n) * 3) {
    for (size_t i = 0; i < place.size(); i++) place[i] = double(scattered(uint32_t(i), 1000)) / 1000;
  }
  void pass() {
#pragma omp parallel for
    for (int b = 0; b < n; b++) {
      double x = 0, y = 0, z = 0;
      for (int c = 0; c < n; c++) {
        const double dx = place[3 * c] - place[3 * b], dy = place[3 * c + 1] - place[3 * b + 1], dz = place[3 * c + 2] - place[3 * b + 2];
        const double square = dx * dx + dy * dy + dz * dz + 0.01;
        const double pull = 0.001 / (square * std::sqrt(square));
        x += pull * dx, y += pull * dy, z += pull * dz;
      }
      speed[3 * b] += x, speed[3 * b + 1] += y, speed[3 * b + 2] += z;
    }
    for (int p = 0; p < 3 * n; p++) place[p] += 0.001 * speed[p];
  }
  double sum() { return sumOf(place); }
};

struct PageRank {
  static constexpr int LINKS = 10;
  int pages;
  std::vector<int32_t> first, from;
  std::vector<double> rank, next;
  explicit PageRank(int pages) : pages(pages), first(pages + 1), from(size_t(pages) * LINKS), rank(pages, 1.0 / pages), next(pages) {
    for (int v = 0; v <= pages; v++) first[v] = v * LINKS;
    for (size_t i = 0; i < from.size(); i++) from[i] = int32_t(scattered(uint32_t(i), pages));
  }
  void pass() {
#pragma omp parallel for
    for (int v = 0; v < pages; v++) {
      double sum = 0;
      for (int e = first[v]; e < first[v + 1]; e++) sum += rank[from[e]] / LINKS;
      next[v] = 0.15 / pages + 0.85 * sum;
    }
#pragma omp parallel for
    for (int v = 0; v < pages; v++) rank[v] = next[v];
  }
  double sum() { return sumOf(rank); }
};

// Each word needs the counts that the words before it left: serial.
struct Gibbs {
  static constexpr int TOPICS = 20, PER_DOC = 100;
  int words, vocabulary;
  std::vector<int32_t> doc, word, topic, ofDoc, ofWord, total;
  std::vector<double> draw;
  Gibbs(int words, int vocabulary)
      : words(words), vocabulary(vocabulary), doc(words), word(words), topic(words), ofDoc(words / PER_DOC * TOPICS), ofWord(vocabulary * TOPICS), total(TOPICS), draw(words) {
    for (int p = 0; p < words; p++) {
      doc[p] = p / PER_DOC, word[p] = scattered(p, vocabulary), topic[p] = p % TOPICS;
      draw[p] = double(scattered(p, 1000)) / 1000;
      ofDoc[doc[p] * TOPICS + topic[p]]++, ofWord[word[p] * TOPICS + topic[p]]++, total[topic[p]]++;
    }
  }
  void pass() {
    for (int p = 0; p < words; p++) {
      int32_t *const d = &ofDoc[doc[p] * TOPICS], *const v = &ofWord[word[p] * TOPICS];
      const int old = topic[p];
      d[old]--, v[old]--, total[old]--;
      double sum = 0;
      for (int t = 0; t < TOPICS; t++) sum += ((d[t] + 0.1) * (v[t] + 0.01)) / (total[t] + 0.3);
      double rest = draw[p] * sum;
      int chosen = TOPICS - 1;
      for (int t = 0; t < TOPICS; t++) {
        rest -= ((d[t] + 0.1) * (v[t] + 0.01)) / (total[t] + 0.3);
        if (rest <= 0) {
          chosen = t;
          break;
        }
      }
      topic[p] = chosen;
      d[chosen]++, v[chosen]++, total[chosen]++;
    }
  }
  double sum() { return sumOf(topic) + sumOf(ofDoc) + sumOf(ofWord); }
};

int main(int count, char **values) {
  if (count < 3) return 1;
  const char *question = values[1];
  const auto number = [&](int i) { return i < count ? std::atoi(values[i]) : 0; };
  const int n = number(2);
  const auto is = [&](const char *name) { return !std::strcmp(question, name); };
  if (is("factorization-f32")) return serve(Factorization<float>(n, number(3), number(4), number(5)));
  if (is("factorization-f64")) return serve(Factorization<double>(n, number(3), number(4), number(5)));
  if (is("product")) return serve(Product(n));
  if (is("jacobi")) return serve(Jacobi(n));
  if (is("gauss-seidel")) return serve(GaussSeidel(n));
  if (is("smith-waterman")) return serve(SmithWaterman(n));
  if (is("logistic")) return serve(LogisticRegression(n, number(3)));
  if (is("k-means")) return serve(KMeans(n));
  if (is("n-body")) return serve(Bodies(n));
  if (is("pagerank")) return serve(PageRank(n));
  if (is("gibbs")) return serve(Gibbs(n, number(3)));
  return 1;
}
