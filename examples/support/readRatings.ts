/** Ratings from a file, whatever its columns are called: user, movie and stars as numbers. */
import type { DistArray, Session } from 'distarray'
import { generateRatings } from './generateRatings.ts'

export interface Rating {
  readonly user: number
  readonly movie: number
  readonly stars: number
}

/** Any of the names that ratings files use; ids may be bigint where a file stores 64-bit integers. */
interface AnyRating {
  readonly user: number | bigint
  readonly userid: number | bigint
  readonly userId: number | bigint
  readonly movie: number | bigint
  readonly movieid: number | bigint
  readonly movieId: number | bigint
  readonly rating: number
  readonly stars: number
}

/** Writes made-up ratings as Parquet; the same number of rows gives the same file. */
export async function writeRatings(session: Session, path: string, rows: number): Promise<void> {
  const { user, movie, stars } = generateRatings(rows)
  await session.fromColumns({ user, movie, stars }).writeParquet(path)
}

export async function readRatings(session: Session, path: string): Promise<DistArray<Rating>> {
  const table = path.endsWith('.csv') ? await session.readCsv<AnyRating>(path) : await session.readParquet<AnyRating>(path)
  const fields = 'fields' in table.schema ? table.schema.fields : []
  const names = fields.map((field) => field.name)
  const has = (name: string): boolean => names.includes(name)
  if (
    !(has('user') || has('userid') || has('userId')) ||
    !(has('movie') || has('movieid') || has('movieId')) ||
    !(has('rating') || has('stars'))
  ) {
    throw new Error(`${path} has the columns ${names.join(', ')}. Needed: user (userid, userId), movie (movieid, movieId), rating (stars).`)
  }
  const bigints = fields.some((field) => ['Int64', 'Uint64'].includes(String(field.type)))
  // As they should be: no column is a 64-bit integer, so none holds a bigint.
  if (has('user') && has('movie') && has('stars') && !bigints) {
    return table.select('user', 'movie', 'stars') as unknown as DistArray<Rating>
  }
  const users = has('user')
    ? table.withColumns((r) => ({ user: Number(r.user) }))
    : has('userid')
      ? table.withColumns((r) => ({ user: Number(r.userid) }))
      : table.withColumns((r) => ({ user: Number(r.userId) }))
  const movies = has('movie')
    ? users.withColumns((r) => ({ movie: Number(r.movie) }))
    : has('movieid')
      ? users.withColumns((r) => ({ movie: Number(r.movieid) }))
      : users.withColumns((r) => ({ movie: Number(r.movieId) }))
  const stars = has('stars')
    ? movies.withColumns((r) => ({ stars: Number(r.stars) }))
    : movies.withColumns((r) => ({ stars: Number(r.rating) }))
  return stars.select('user', 'movie', 'stars')
}
