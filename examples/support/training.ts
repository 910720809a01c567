/** Trains a recommender: passes over the ratings, each followed by a look at the held-out ones. */
import type { DistArray, Loop, Session, TypedArray } from 'distarray'

/** What the example builds in a session; nothing has run yet. */
export interface Recommender {
  readonly ratings: DistArray<number, readonly [number, number]>
  /** One pass of training; its accumulator `loss` holds the squared errors. */
  readonly sgd: Loop
  /** Predicts the held-out ratings; its accumulator `loss` holds the squared errors. */
  readonly test: Loop
  readonly model: readonly DistArray<number, readonly [number, number] | readonly [number]>[]
}
export type MakeRecommender = (session: Session, file: string, rank: number) => Promise<Recommender>

export interface Epoch {
  readonly number: number
  readonly trainRmse: number
  readonly testRmse: number
  readonly milliseconds: number
}
export interface Training {
  readonly workers: number
  readonly epochs: readonly Epoch[]
  /** Of the training passes alone. */
  readonly seconds: number
  readonly model: readonly TypedArray[]
}

export async function trainingOf(
  session: Session,
  { sgd, test, model }: Recommender,
  passes: number,
  onEpoch: (epoch: Epoch) => void,
): Promise<Training> {
  const epochs: Epoch[] = []
  for await (const pass of sgd.passes(passes)) {
    const [tested] = (await test.run()).passes
    const epoch = {
      number: pass.number,
      trainRmse: rmse(pass.accumulators.loss, pass.iterations),
      testRmse: rmse(tested?.accumulators.loss, tested?.iterations),
      milliseconds: pass.milliseconds,
    }
    epochs.push(epoch)
    onEpoch(epoch)
  }
  const seconds = epochs.reduce((sum, epoch) => sum + epoch.milliseconds, 0) / 1000
  return { workers: session.workers, epochs, seconds, model: await Promise.all(model.map((array) => array.toTypedArray())) }
}

/** Root of the mean square. */
function rmse(squares = Number.NaN, count = 0): number {
  return Math.sqrt(squares / count)
}
