// LIBMF (mf.h and mf.cpp of its distribution, found by -I) as a peer: a pass over ratings in a file of triples of int32, int32 and
// float32. Training prepares blocks first, so a pass is the difference between a short and a long training by their passes.
//
//     libmf ratings.bin rank
#include "bench.h"
#include "mf.cpp"
#include <cstdlib>
#ifdef _OPENMP
#include <omp.h>
#endif

static const int SHORT = 2, LONG = 8;

static double trainedIn(mf::mf_problem *problem, int rank, int passes) {
  auto parameter = mf::mf_get_default_param();
  parameter.k = rank;
  parameter.nr_iters = passes;
  parameter.nr_threads = std::getenv("OMP_NUM_THREADS") ? std::atoi(std::getenv("OMP_NUM_THREADS")) : 1;
  parameter.quiet = true;
  parameter.lambda_p2 = parameter.lambda_q2 = 0.08f;
  parameter.eta = 0.025f;
  const auto started = std::chrono::steady_clock::now();
  auto *model = mf::mf_train(problem, parameter);
  const auto took = std::chrono::steady_clock::now() - started;
  mf::mf_destroy_model(&model);
  return double(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
}

int main(int count, char **values) {
  if (count < 3) return 1;
  std::FILE *file = std::fopen(values[1], "rb");
  if (!file) return 1;
  std::vector<mf::mf_node> ratings;
  mf::mf_problem problem{0, 0, 0, nullptr};
  for (mf::mf_node one; std::fread(&one, sizeof one, 1, file) == 1;) {
    problem.m = std::max(problem.m, one.u + 1), problem.n = std::max(problem.n, one.v + 1);
    ratings.push_back(one);
  }
  std::fclose(file);
  problem.nnz = mf::mf_long(ratings.size()), problem.R = ratings.data();
  char line[16];
  while (std::fgets(line, sizeof line, stdin)) {
    const double few = trainedIn(&problem, std::atoi(values[2]), SHORT);
    const double many = trainedIn(&problem, std::atoi(values[2]), LONG);
    std::printf("%lld\n", (long long)((many - few) / (LONG - SHORT)));
    std::fflush(stdout);
  }
  return 0;
}
