import { expect, test } from 'vitest'
import { TaskError } from './core/errors.ts'
import { Session } from './session/session.ts'

/** What a session says to options that TypeScript would not let through. */
async function refusal(options: unknown): Promise<string> {
  try {
    const session = await Session.start(options as never)
    await session.stop()
    return 'started'
  } catch (error) {
    return String(error)
  }
}

test('options that make no sense, or that there are not, are named when a session starts', async () => {
  const options = [
    ...[1e7, Number.NaN, -1, 0, 1.5, '4', null, Number.POSITIVE_INFINITY].map((workers) => ({ workers })),
    ...['abc', '64 MB', -1, 1n].map((memory) => ({ memory })),
    { worker: 2 },
    { threads: 2 },
    { progress: 'yes' },
    { seed: 0.5 },
    { checkRaces: 1 },
    null,
    'x',
  ]
  expect(await Promise.all(options.map(refusal))).toMatchInlineSnapshot(`
    [
      "PlanError: workers is 10000000. It is an integer from 1 to 1024; without it there is one for each core.",
      "PlanError: workers is NaN. It is an integer from 1 to 1024; without it there is one for each core.",
      "PlanError: workers is -1. It is an integer from 1 to 1024; without it there is one for each core.",
      "PlanError: workers is 0. It is an integer from 1 to 1024; without it there is one for each core.",
      "PlanError: workers is 1.5. It is an integer from 1 to 1024; without it there is one for each core.",
      "PlanError: workers is "4". It is an integer from 1 to 1024; without it there is one for each core.",
      "PlanError: workers is null. It is an integer from 1 to 1024; without it there is one for each core.",
      "PlanError: workers is Infinity. It is an integer from 1 to 1024; without it there is one for each core.",
      "PlanError: memory is "abc". It is a number of bytes, at least 1 MB, or text as '512MB' or '2GB'.",
      "PlanError: memory is "64 MB". It is a number of bytes, at least 1 MB, or text as '512MB' or '2GB'.",
      "PlanError: memory is -1. It is a number of bytes, at least 1 MB, or text as '512MB' or '2GB'.",
      "PlanError: memory is 1n. It is a number of bytes, at least 1 MB, or text as '512MB' or '2GB'.",
      "PlanError: Session.start() has no option "worker". Did you mean "workers"? Its options are workers, memory, seed, progress, checkRaces, require, checkpoint, spillFolder, tables, fallback.",
      "PlanError: Session.start() has no option "threads". Did you mean "workers"? Its options are workers, memory, seed, progress, checkRaces, require, checkpoint, spillFolder, tables, fallback.",
      "PlanError: progress is true, false or 'auto'; it was given "yes".",
      "PlanError: seed is an integer; it was given 0.5.",
      "PlanError: checkRaces is true or false; it was given 1.",
      "PlanError: The options of Session.start() are an object; it was given null.",
      "PlanError: The options of Session.start() are an object; it was given "x".",
    ]
  `)
})

test('what combine, apply and update throw is a TaskError with its cause', async () => {
  const session = await Session.start({ workers: 1, progress: false })
  const cause = new Error('boom')
  const boom = (): number => {
    throw cause
  }
  const each = (body: (env: Record<string, { add(...args: readonly number[]): void }>, i: number) => void, env: object) =>
    session.parallelFor(session.range(5_000), env as never, ([i], e) => body(e as never, i as number))
  const asked: readonly (() => Promise<unknown>)[] = [
    () => each((e, i) => e.total?.add(i), { total: session.accumulator({ init: 0, combine: boom }) }),
    () => each((e, i) => e.a?.add(i % 10, i), { a: session.zeros([10]).buffer({ apply: boom }) }),
    () => each((e, i) => e.a?.add(i % 10, i), { a: session.zeros([10]).buffer({ combine: boom }) }),
    () => session.zeros([10]).update([3], boom),
    () =>
      session
        .fromColumns({ k: [1, 1] })
        .index((row) => [row.k], { combine: boom as never })
        .collect(),
    () => session.fromColumns({ k: [1, 1] }).reduce(boom as never),
  ]
  const errors = await Promise.all(
    asked.map((ask) =>
      ask().then(
        () => undefined,
        (error: unknown) => error as TaskError,
      ),
    ),
  )
  expect(errors.map((error) => [error instanceof TaskError, error?.cause === cause, error?.message])).toMatchInlineSnapshot(`
    [
      [
        true,
        true,
        "The combine function of the accumulator total threw: boom",
      ],
      [
        true,
        true,
        "A buffer's apply function threw: boom",
      ],
      [
        true,
        true,
        "The body of the loop over range(5000) threw at key [10]: boom",
      ],
      [
        true,
        true,
        "The function of update() threw at key [3]: boom",
      ],
      [
        true,
        true,
        "index.combine: the function threw at row 1: boom",
      ],
      [
        true,
        true,
        "The function of reduce() threw at key [1]: boom",
      ],
    ]
  `)
  await session.stop()
})
