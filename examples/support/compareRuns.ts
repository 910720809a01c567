/**
 * The recommender's main program: trains it with all workers and again with one, from the same start, and says whether
 * the two models have the same bits.
 */
import { Session } from 'distarray'
import { writeLines } from './lineChart.ts'
import { type Options, optionsOf } from './options.ts'
import { writeRatings } from './readRatings.ts'
import { type Epoch, type MakeRecommender, type Training, trainingOf } from './training.ts'

export async function compareRuns(make: MakeRecommender): Promise<void> {
  const options = optionsOf(process.argv.slice(2))
  const file = options.ratings ?? (await generated(options))
  const say = options.json ? () => {} : console.log

  await using session = await Session.start(options.workers === undefined ? {} : { workers: options.workers })
  const recommender = await make(session, file, options.rank)
  say(`The table part:\n${recommender.ratings.explain()}\n\nThe loop:\n${recommender.sgd.explain()}\n`)
  const parallel = await trainingOf(session, recommender, options.passes, (epoch) => say(epochText(epoch)))
  const replay = await recommender.sgd.verify()
  const { where, because } = recommender.sgd.plan.execution

  say('\nThe same with one worker …')
  await using alone = await Session.start({ workers: 1 })
  const serial = await trainingOf(alone, await make(alone, file, options.rank), options.passes, () => {})

  const identical = sameBits(parallel, serial)
  const [trainRmse, testRmse] = [parallel.epochs.map((epoch) => epoch.trainRmse), parallel.epochs.map((epoch) => epoch.testRmse)]
  const curves = [
    { name: 'training', values: trainRmse },
    { name: 'held out', values: testRmse },
  ]
  writeLines('loss.svg', { title: 'Error per pass (RMSE, stars)', along: 'pass' }, curves)
  const numbers = {
    schedule: recommender.sgd.plan.schedule.kind,
    workers: parallel.workers,
    passes: options.passes,
    rank: options.rank,
    trainRmse,
    testRmse,
    serialEqualsParallel: identical && replay.identical,
    secondsSerial: serial.seconds,
    secondsParallel: parallel.seconds,
  }
  if (options.json) console.log(JSON.stringify(numbers))
  else {
    say(`the passes ran on the ${where}: ${because}`)
    const speedUp = (serial.seconds / parallel.seconds).toFixed(2)
    say(`serial versus parallel       bit-identical: ${yesOrNo(identical)}`)
    say(`one pass as plain JavaScript bit-identical: ${yesOrNo(replay.identical)} (${replay.iterations} iterations replayed)`)
    say(`1 worker ${serial.seconds.toFixed(2)} s, ${parallel.workers} workers ${parallel.seconds.toFixed(2)} s: speed-up ${speedUp}`)
    say(`best held-out RMSE ${Math.min(...testRmse).toFixed(4)}; the curve is in loss.svg`)
  }
  if (!numbers.serialEqualsParallel) process.exitCode = 1
}

/** A file of made-up ratings in the current folder. */
async function generated({ rows }: Options): Promise<string> {
  await using session = await Session.start({ workers: 1 })
  await writeRatings(session, 'ratings.parquet', rows)
  return 'ratings.parquet'
}

function sameBits(a: Training, b: Training): boolean {
  const bytes = ({ model }: Training): Buffer =>
    Buffer.concat(model.map((part) => Buffer.from(part.buffer, part.byteOffset, part.byteLength)))
  return (
    bytes(a).equals(bytes(b)) &&
    a.epochs.every((epoch, i) => Object.is(epoch.trainRmse, b.epochs[i]?.trainRmse) && Object.is(epoch.testRmse, b.epochs[i]?.testRmse))
  )
}

function epochText({ number, trainRmse, testRmse, milliseconds }: Epoch): string {
  return `pass ${String(number).padStart(2)}  training RMSE ${trainRmse.toFixed(4)}  held-out RMSE ${testRmse.toFixed(4)}  ${milliseconds.toFixed(0).padStart(5)} ms`
}

function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no'
}
