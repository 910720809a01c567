/** What is not compiled: events, the warning, and sessions that require that all is. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { addCost } from './exec/kernels/fallbacks.ts'
import { count, LoopError, PlanError, Session, type SessionEvent, sum } from './index.ts'

const session = await Session.start({ workers: 2, progress: false })
const strict = await Session.start({ workers: 1, progress: false, require: 'compiled' })
afterAll(async () => {
  await session.stop()
  await strict.stop()
})

interface Row {
  readonly a: number
  readonly s: string
}

const ROWS: readonly Row[] = Array.from({ length: 100 }, (_, i) => ({ a: i, s: `s${i}` }))

type Fallback = Extract<SessionEvent, { kind: 'fallback' }>

/** What a run tells of functions that are not compiled, places left out. */
async function told(run: () => Promise<unknown>): Promise<Omit<Fallback, 'kind' | 'span'>[]> {
  const found: Omit<Fallback, 'kind' | 'span'>[] = []
  const subscription = session.events.subscribe((event) => {
    if (event.kind !== 'fallback') return
    const { kind: _, span, ...rest } = event
    expect(span?.line).toBeGreaterThan(0)
    found.push(rest)
  })
  await run()
  subscription.unsubscribe()
  return found
}

let seen = 0

test('rows of files that kernels over columns could compute are told of, where a table in memory has kernels', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'distarray-fallbacks-')), 'rows.parquet')
  const rows = session.fromRows(Array.from({ length: 30_000 }, (_, a) => ({ a, s: `s${a % 3}` })))
  await rows.writeParquet(path)
  const file = await session.readParquet<Row>(path)
  const chain = (table: typeof file) => table.filter((r) => r.a > 5).map((r) => r.a * 2)
  const because = 'It is compiled for rows: what comes of them is taken partition after partition.'
  const cure = 'Where a table is asked more than once, materialize() it first.'
  const iterated = async () => {
    for await (const _ of chain(file));
  }
  expect(await told(iterated)).toStrictEqual([
    { what: 'FilterExec r => r.a > 5', because, cure, runs: 'workers' },
    { what: 'MapExec r => r.a * 2', because, cure, runs: 'workers' },
  ])
  expect(chain(file).explain()).toContain('FilterExec r => r.a > 5: WebAssembly over columns, because they are read whole first')
  expect(await told(() => chain(file).sum())).toStrictEqual([])
  expect(await told(() => chain(file.materialize()).sum())).toStrictEqual([])
  expect(await told(() => chain(rows).sum())).toStrictEqual([])
  const upper = (table: typeof file) => table.map((r) => r.s.toUpperCase()).filter((s) => s === 'S1')
  for (const table of [file, rows]) expect(await told(() => upper(table).count())).toStrictEqual([]) // texts are not looked at to count them
  // no kernel makes texts
  expect(await told(() => file.map((r) => r.s.toUpperCase()).collect())).toStrictEqual([])
  expect(await told(() => file.count())).toStrictEqual([])
  rmSync(dirname(path), { recursive: true })
})

test('each run of a function that is not compiled is told, with the reason and the cure', async () => {
  const table = session.fromRows(ROWS)
  const regex = {
    because: 'It uses a regular expression.',
    cure: 'Use test and exec without the flags g and y; with g, write it out in replace, replaceAll, match or split of a text.',
    runs: 'workers',
  }
  const copies = table.filter((r) => /1/g.test(r.s)).map((r) => r.a + 1)
  const event = { what: 'FilterExec r => (/1/g).test(r.s)', ...regex }
  expect(await told(() => copies.collect())).toStrictEqual([event])
  expect(await told(() => copies.count())).toStrictEqual([event])
  expect(await told(() => copies.take(2))).toStrictEqual([event])
  expect(
    await told(async () => {
      for await (const _ of copies);
    }),
  ).toStrictEqual([event])
  expect(
    await told(() =>
      table
        .groupBy((r) => /./g.exec(r.s)?.[0])
        .agg({ n: count() })
        .collect(),
    ),
  ).toMatchObject([{ what: 'EvaluateExec r => (/./g).exec(r.s)?.[0]', runs: 'workers' }])
  expect(
    await told(() =>
      table
        .map((r) => {
          seen++
          return r.a
        })
        .collect(),
    ),
  ).toStrictEqual([
    {
      what: 'MapExec r => { seen++; return r.a }',
      because: 'It assigns the captured variable seen.',
      cure: "Use an accumulator in env, as { total: session.accumulator('sum') }, and total.add(x).",
      runs: 'caller',
    },
  ])
  expect(
    await told(() =>
      table
        .groupBy((r) => r.a % 2)
        .map((_, rows) => [...rows].length)
        .collect(),
    ),
  ).toMatchObject([{ what: 'GroupMapExec (_, rows) => [...rows].length', runs: 'workers' }])
  expect(
    await told(() =>
      table
        .filter((r) => r.a > 3)
        .groupBy((r) => r.s)
        .agg({ n: sum((r) => r.a) })
        .collect(),
    ),
  ).toStrictEqual([])
})

test('each run of a body that is not compiled is told once, however many passes it has', async () => {
  const A = session.zeros([4])
  const loop = session.loop(session.range(4), { A }, ([i], { A }) => {
    if (/1/g.test(String(i))) A.set(i, 1)
  })
  const event = {
    what: 'loop over range(4)',
    because: 'It uses a regular expression.',
    cure: 'Use test and exec without the flags g and y; with g, write it out in replace, replaceAll, match or split of a text.',
    runs: 'caller',
  }
  expect(await told(() => loop.run({ passes: 3 }))).toStrictEqual([event])
  expect(
    await told(async () => {
      for await (const _ of loop.passes(2));
    }),
  ).toStrictEqual([event])
  const objects = session.fill([4], { n: 1 } as { n: number } | number)
  const kept = session.loop(objects, {}, () => 2)
  expect(await told(() => kept.run())).toStrictEqual([
    {
      what: 'loop over fill([4])',
      because: "fill([4]) holds objects, which live on the caller's thread.",
      cure: 'Keep numbers in an array with a numeric dtype.',
      runs: 'caller',
    },
  ])
  expect(await told(() => session.loop(session.range(4), { A }, ([i], { A }) => A.set(i, i)).run())).toStrictEqual([])
})

test('a body says before its run, and after it, that it will run as it stands', async () => {
  const texts = session.fromRows(ROWS).map((r) => r.s)
  const loop = session.loop(texts, {}, (s) => `${s}!`)
  const expected = {
    target: 'as-is',
    because: [
      {
        code: 'no-kernel',
        message: 'The value returned replaces elements that are no plain numbers.',
        cure: 'Write it to an array in env, or use map().',
      },
    ],
  }
  expect(loop.plan.kernel).toStrictEqual(expected)
  await loop.run().catch(() => undefined)
  expect(loop.plan.kernel).toStrictEqual(expected)
})

test('of arrays that nothing is known of, the first run decides', async () => {
  const opaque = session.fromRows(ROWS).map((r) => Number(r.s.replace(/s/, () => '')))
  const total = session.accumulator('sum')
  const loop = session.loop(opaque, { total }, (v, _, { total }) => total.add(v))
  expect(loop.explain()).toContain('\nkernel js: or as it stands: the first run decides, once it is known what the arrays hold\n')
  const { passes } = await loop.run()
  expect(passes[0]?.accumulators.total).toBe(4950)
  expect(loop.plan.kernel.target).toBe('wasm')
})

const REQUIRED = 'and the session requires that all are compiled'

test('a session that requires compiled functions refuses others at the call', async () => {
  const table = strict.fromRows(ROWS)
  const refused = (run: () => unknown): string => {
    try {
      run()
    } catch (error) {
      expect(error).toBeInstanceOf(PlanError)
      return (error as Error).message
    }
    throw new Error('nothing was refused')
  }
  expect(refused(() => table.filter((r) => /1/g.test(r.s)))).toBe(
    `filter: the function runs as JavaScript in the workers, ${REQUIRED}: r => (/1/g).test(r.s)\n  1:8  /1/g\nIt uses a regular expression. Use test and exec without the flags g and y; with g, write it out in replace, replaceAll, match or split of a text.`,
  )
  for (const [method, run] of [
    ['map', () => table.map((r) => (seen += r.a))],
    ['withColumns', () => table.withColumns((r) => ({ d: new Map([[r.a, 1]]).size }))],
    ['flatMap', () => table.flatMap((r) => [...r.s.matchAll(/x/g)].map(String))],
    ['mapPartitions', () => table.mapPartitions((values) => [...values])],
    ['groupBy', () => table.groupBy((r) => /1/g.test(r.s))],
    ['sum', () => table.groupBy((r) => r.a).agg({ n: sum((r) => [...r.s.matchAll(/x/g)].length) })],
    ['map', () => table.groupBy((r) => r.a).map((_, rows) => [...rows].length)],
    ['sortBy', () => table.sortBy((r) => r.s.replace(/s/, () => ''))],
    ['index', () => table.index((r) => [Number(r.s.replace(/s/, () => ''))])],
  ] as const)
    expect(refused(run)).toMatch(new RegExp(`^${method}: the function runs as .*, ${REQUIRED}: `))
  // what the caller does with the elements is its own
  await table.forEach((r) => void (seen += r.a))
  expect(await table.map((r) => r.a).reduce((a, b) => Math.max(a, b, /x/g.test('x') ? 0 : 1))).toBe(99)
  expect(await table.filter((r) => r.s.startsWith('s1')).count()).toBe(11)
})

test('what is found out by the action is refused by the action', async () => {
  const { random } = Math
  const table = strict.fromRows(ROWS)
  const chain = table.map((r) => Math.floor(r.a / 2))
  const { floor } = Math
  try {
    Math.floor = (x) => floor(x)
    await expect(chain.collect()).rejects.toThrow(
      new RegExp(`^A row function runs as it stands on the caller's thread, ${REQUIRED}: .*\n.*\nThe program has changed Math.floor`),
    )
  } finally {
    Math.floor = floor
    Math.random = random
  }
  expect((await chain.collect()).length).toBe(100)
})

test('a session or a loop that requires a compiled body refuses another one', async () => {
  const body = ([i]: readonly [number]) => void /1/g.test(String(i))
  const message =
    /^The body of the loop over range\(3\) is not compiled, and that is required\.\n {2}1:15 {2}It uses a regular expression\.\n {7}Use test and exec without the flags g and y; with g, write it out in replace, replaceAll, match or split of a text\.$/
  expect(() => strict.loop(strict.range(3), {}, body)).toThrow(message)
  expect(() => strict.loop(strict.range(3), {}, body)).toThrow(LoopError)
  expect(() => session.loop(session.range(3), {}, body, { require: 'compiled' })).toThrow(message)
  await expect(session.parallelFor(session.range(3), {}, body, { require: 'compiled' })).rejects.toThrow(message)
  const A = strict.zeros([3])
  await strict.parallelFor(strict.range(3), { A }, ([i], { A }) => A.set(i, i), { require: 'compiled' })
  expect([...(await A.toTypedArray())]).toStrictEqual([0, 1, 2])
})

/** Of what warnings the process was told meanwhile. */
async function warnings(run: () => Promise<unknown>): Promise<string[]> {
  const found: string[] = []
  const hear = (warning: Error & { readonly code?: string }) => {
    if (warning.code === 'DISTARRAY_FALLBACK') found.push(`${warning.name}: ${warning.message}`)
  }
  process.on('warning', hear)
  await run()
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', hear)
  return found
}

test('a function that has cost more than a second is told of once in a process, by its place and text', async () => {
  const reason = {
    code: 'regex',
    message: 'It uses a regular expression.',
    cure: 'Use string methods.',
    span: { file: 'a.ts', line: 7, column: 20, text: '/x/' },
  }
  const fallback = {
    text: '(r) => /x/.test(r.s)',
    span: { file: 'a.ts', line: 7, column: 12, text: '(r) => /x/.test(r.s)' },
    runs: 'workers',
    reason,
  } as const
  expect(await warnings(async () => addCost(fallback, 600))).toStrictEqual([])
  expect(await warnings(async () => addCost({ ...fallback, span: { ...fallback.span, line: 8 } }, 600))).toStrictEqual([])
  expect(await warnings(async () => addCost(fallback, 500))).toStrictEqual([
    'DistarrayWarning: a.ts:7:12 (r) => /x/.test(r.s) runs as JavaScript in the workers instead of being compiled, and has taken more than a second. At a.ts:7:20 /x/: It uses a regular expression. Use string methods.',
  ])
  expect(await warnings(async () => addCost(fallback, 5000))).toStrictEqual([])
})

/** Takes so long, on whatever thread. */
const SPIN = `const end = performance.now() + 120; while (performance.now() < end);`

test('row functions on workers and bodies on the caller are told of while they run', async () => {
  const slow = new Function('r', `${SPIN} return /1/g.test(r.s)`) as (r: Row) => boolean
  const [warning, ...others] = await warnings(() => session.fromRows(ROWS.slice(0, 12)).filter(slow).collect())
  expect(warning).toMatch(/^DistarrayWarning: \S+ .* runs as .* instead of being compiled, and has taken more than a second\. At /)
  expect(others).toStrictEqual([])
  const body = new Function('key', `${SPIN} /1/g.test(String(key[0]))`) as (key: readonly [number]) => void
  const found = await warnings(async () => {
    const loop = session.loop(session.range(12), {}, body)
    await loop.run()
    await loop.run()
  })
  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(/ runs as it stands on the caller's thread instead of being compiled, and has taken more than a second\. At /)
})
