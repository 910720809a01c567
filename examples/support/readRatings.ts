/** Ratings from a file, whatever its columns are called: user, movie and stars as numbers. */
import type { DistArray, Session } from 'distarray'
import { generateRatings } from './generateRatings.ts'

export interface Rating {
  readonly user: number
  readonly movie: number
  readonly stars: number
}

/** Any of the names that ratings files use. */
interface AnyRating {
  readonly user: number
  readonly userid: number
  readonly userId: number
  readonly movie: number
  readonly movieid: number
  readonly movieId: number
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
  const users = has('user')
    ? table
    : has('userid')
      ? table.withColumns((r) => ({ user: r.userid }))
      : table.withColumns((r) => ({ user: r.userId }))
  const movies = has('movie')
    ? users
    : has('movieid')
      ? users.withColumns((r) => ({ movie: r.movieid }))
      : users.withColumns((r) => ({ movie: r.movieId }))
  const stars = has('stars') ? movies : movies.withColumns((r) => ({ stars: r.rating }))
  return stars.select('user', 'movie', 'stars')
}
