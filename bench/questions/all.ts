/** The questions of kernels.bench.ts, by a number that its contenders share. */
import { gaussSeidel, jacobi, product, smithWaterman } from './dense.ts'
import { factorization } from './factorization.ts'
import { gibbs, kMeans, logisticRegression } from './learning.ts'
import type { KernelQuestion } from './question.ts'
import { bodies, pageRank } from './simulation.ts'

const RESIDENT = { users: 200, movies: 200, perUser: 200, passes: 5 }
const LARGE = { users: 200_000, movies: 200_000, perUser: 2 }

export const QUESTIONS: readonly (() => KernelQuestion)[] = [
  ...[16, 32, 128].flatMap((K) =>
    (['f32', 'f64'] as const).map((dtype) => () => factorization(`factorization ${dtype}, rank ${K}, in the cache`, dtype, K, RESIDENT)),
  ),
  ...[32, 128].map((K) => () => factorization(`factorization f32, rank ${K}, 200,000 rows`, 'f32', K, LARGE)),
  () => product(300),
  () => jacobi(1000, 'rows'),
  () => jacobi(1000, 'elements'),
  () => gaussSeidel(1000),
  () => smithWaterman(2000),
  () => logisticRegression(20_000, 10_000),
  () => kMeans(20_000),
  () => bodies(1000),
  () => pageRank(50_000),
  () => gibbs(20_000, 2_000),
]
