/**
 * Ratings in the shape of Netflix's: a few movies are rated by everybody (Zipf), a few users rate everything
 * (log-normal), and stars follow hidden tastes (low-rank truth) with noise. The seed gives the same ratings everywhere.
 */
export interface Ratings {
  readonly user: Int32Array
  readonly movie: Int32Array
  readonly stars: Float32Array
}

/** Hidden tastes per user and movie: far fewer than a model is given. */
const TRUE_RANK = 6
const NOISE = 0.75
const SEED = 20_061_002

/**
 * `rows` ratings, user by user, no pair of user and movie twice. Ids start at 1. Where the numbers of users and movies are
 * not given, they are in proportion to 1,000,000 ratings by 6,000 users of 4,000 movies.
 */
export function generateRatings(rows: number, extents?: { readonly users: number; readonly movies: number }): Ratings {
  const random = generator(SEED)
  const side = Math.sqrt(rows / 1_000_000)
  const users = extents?.users ?? Math.max(10, Math.round(6000 * side))
  const movies = extents?.movies ?? Math.max(40, Math.round(4000 * side))
  const perUser = activity(rows, users, movies, random)
  const popularity = cumulative(Array.from({ length: movies }, (_, rank) => 1 / (rank + 10) ** 0.9))
  const tastes = normals(users * TRUE_RANK, 0.6, random)
  const traits = normals(movies * TRUE_RANK, 0.6, random)
  const kindness = normals(users, 0.35, random)
  const quality = normals(movies, 0.45, random)

  const user = new Int32Array(rows)
  const movie = new Int32Array(rows)
  const stars = new Float32Array(rows)
  const ratedBy = new Int32Array(movies).fill(-1)
  let row = 0
  for (let u = 0; u < users; u++) {
    for (let n = perUser[u] ?? 0; n > 0; n--) {
      let m = draw(popularity, random)
      // A movie the user has rated: the next one in the list of popularity.
      while (ratedBy[m] === u) m = (m + 1) % movies
      ratedBy[m] = u
      let opinion = 3.5 + (kindness[u] ?? 0) + (quality[m] ?? 0) + NOISE * normal(random)
      for (let k = 0; k < TRUE_RANK; k++) opinion += (tastes[u * TRUE_RANK + k] ?? 0) * (traits[m * TRUE_RANK + k] ?? 0)
      user[row] = u + 1
      movie[row] = m + 1
      stars[row++] = Math.min(5, Math.max(1, Math.round(opinion)))
    }
  }
  return { user, movie, stars }
}

/** How many ratings each user gives: log-normal, at most half the movies, `rows` in all. */
function activity(rows: number, users: number, movies: number, random: () => number): readonly number[] {
  const weights = Array.from({ length: users }, () => Math.exp(normal(random)))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const most = Math.max(1, movies >> 1)
  const counts = weights.map((weight) => Math.min(most, Math.floor((weight / total) * rows)))
  // What rounding and the limit left over goes round the users, one each.
  let left = rows - counts.reduce((sum, count) => sum + count, 0)
  if (users * movies < rows) throw new Error(`${rows} ratings do not fit ${users} users and ${movies} movies.`)
  for (let u = 0; left > 0; u = (u + 1) % users) {
    if ((counts[u] ?? 0) < movies) {
      counts[u] = (counts[u] ?? 0) + 1
      left--
    }
  }
  return counts
}

function cumulative(weights: readonly number[]): Float64Array {
  let sum = 0
  return Float64Array.from(weights, (weight) => (sum += weight))
}

/** An index with probability proportional to its weight. */
function draw(sums: Float64Array, random: () => number): number {
  const wanted = random() * (sums[sums.length - 1] ?? 0)
  let low = 0
  let high = sums.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sums[middle] ?? 0) <= wanted) low = middle + 1
    else high = middle
  }
  return low
}

function normals(count: number, scale: number, random: () => number): Float64Array {
  return Float64Array.from({ length: count }, () => scale * normal(random))
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** mulberry32: small, seeded, good enough for made-up ratings. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
