// How a native peer talks with the bench: it reads a line and answers with one.
//
//     pass         runs a pass; the nanoseconds it took
//     processor    runs a pass; the nanoseconds of processor time it took
//     sum          the sum of what the question computes
//
// Its data are the bench's: filled() and scattered() give the same numbers there (bench/data.ts).
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

template <class Work> int serve(Work work) {
  char line[16];
  while (std::fgets(line, sizeof line, stdin)) {
    if (!std::strncmp(line, "processor", 9)) {
      timespec from, to;
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
      work.pass();
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
      std::printf("%lld\n", (long long)(to.tv_sec - from.tv_sec) * 1000000000 + (to.tv_nsec - from.tv_nsec));
    } else if (!std::strncmp(line, "pass", 4)) {
      const auto started = std::chrono::steady_clock::now();
      work.pass();
      const auto took = std::chrono::steady_clock::now() - started;
      std::printf("%lld\n", (long long)std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
    } else {
      std::printf("%.17g\n", work.sum());
    }
    std::fflush(stdout);
  }
  return 0;
}

// 0, 0.01, 0.02 … up to the modulus, and again.
template <class T> std::vector<T> filled(size_t length, int modulus) {
  std::vector<T> a(length);
  for (size_t i = 0; i < length; i++) a[i] = T(0.01 * double(i % modulus));
  return a;
}

// Whole numbers below a limit, without order.
inline uint32_t scattered(uint32_t i, uint32_t limit) {
  uint32_t x = (i + 1) * 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return x % limit;
}

template <class V> double sumOf(const V &values) {
  double sum = 0;
  for (const auto value : values) sum += double(value);
  return sum;
}

inline int least(int a, int b) { return a < b ? a : b; }
inline int greatest(int a, int b) { return a > b ? a : b; }

// Tiles of a plane, each after the one above it and the one to its left: work(top, bottom, left, right).
template <class Tile> void wavefront(int rows, int columns, int side, Tile tile) {
  const int down = (rows + side - 1) / side, across = (columns + side - 1) / side;
  for (int diagonal = 0; diagonal < down + across - 1; diagonal++) {
    const int first = greatest(0, diagonal - across + 1), last = least(down - 1, diagonal);
#pragma omp parallel for schedule(dynamic)
    for (int s = first; s <= last; s++) {
      const int t = diagonal - s;
      tile(s * side, least(rows, (s + 1) * side), t * side, least(columns, (t + 1) * side));
    }
  }
}
