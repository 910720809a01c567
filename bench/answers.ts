/** What programs of JavaScript say to the bench that started them, in the way of those of bench/native. */
import { createInterface } from 'node:readline'
import type { Numbers } from './questions/question.ts'

/** A line asks for `pass` or `processor`, the nanoseconds of a pass by either clock, or for `sum`, that of all results. */
export async function answer(pass: () => unknown, results: readonly Numbers[]): Promise<void> {
  const timed = (clock: () => number): number => {
    const started = clock()
    pass()
    return clock() - started
  }
  const answers: Readonly<Record<string, () => number>> = {
    pass: () => timed(() => Number(process.hrtime.bigint())),
    processor: () => timed(() => 1000 * (process.cpuUsage().user + process.cpuUsage().system)),
    sum: () => results.reduce((sum, values) => sum + sumOf(values), 0),
  }
  for await (const line of createInterface({ input: process.stdin })) process.stdout.write(`${answers[line]?.()}\n`)
}

function sumOf(values: Numbers): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]!
  return sum
}
