/** The command line of the recommender. */
import { parseArgs } from 'node:util'

export interface Options {
  /** A CSV or Parquet file; without it one is generated. */
  readonly ratings: string | undefined
  /** Ratings to generate. */
  readonly rows: number
  readonly rank: number
  readonly passes: number
  /** Undefined: all cores. */
  readonly workers: number | undefined
  readonly json: boolean
}

const USAGE = `npm start -- [options]

  --ratings FILE   CSV or Parquet with columns user (userid, userId), movie (movieid, movieId) and rating (stars)
  --rows N         without --ratings: how many ratings to generate (1000000)
  --rank N         numbers per user and per movie (32)
  --passes N       passes over the ratings (20)
  --workers N      worker threads (all cores)
  --json           print one JSON object instead of the report`

/** Reads the arguments; prints the usage and ends the program when they make no sense. */
export function optionsOf(args: readonly string[]): Options {
  try {
    const text = { type: 'string' } as const
    const flag = { type: 'boolean', default: false } as const
    const options = { ratings: text, rows: text, rank: text, passes: text, workers: text, json: flag, help: flag }
    const { values } = parseArgs({ args: [...args], options })
    if (values.help) {
      console.log(USAGE)
      process.exit(0)
    }
    return {
      ratings: values.ratings,
      rows: countOf('--rows', values.rows ?? '1000000'),
      rank: countOf('--rank', values.rank ?? '32'),
      passes: countOf('--passes', values.passes ?? '20'),
      workers: values.workers === undefined ? undefined : countOf('--workers', values.workers),
      json: values.json,
    }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`)
    process.exit(2)
  }
}

function countOf(name: string, text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`${name} is ${text}; it must be a whole number of at least 1.`)
  return value
}
