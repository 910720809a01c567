/**
 * Whatever is given to a public method, of any kind and in any place, it runs or fails with an error of the library's own: never a
 * TypeError from inside, never a promise that nobody waits for. So do the values that functions and bodies capture, and `explain()` prints
 * whatever was accepted.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LoopError, MemoryError, PlanError, Session, SourceError, sum, TaskError } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('arguments.prop.ts')

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB' })
})
afterAll(() => session.stop())

class Custom {
  readonly v = 1
}
const cyclic: Record<string, unknown> = {}
cyclic.self = cyclic

/** What fast-check makes, and what it does not. */
const anything: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 2, arbitrary: fc.anything({ withBigInt: true, withDate: true, withTypedArray: true, withNullPrototype: true, withMap: true }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(
      null,
      undefined,
      3n,
      's',
      Number.NaN,
      -0,
      -1,
      0.5,
      true,
      Symbol('odd'),
      [],
      [null],
      [undefined, 1],
      [[0, 1n]],
      [Symbol('odd')],
      {},
      { kind: 'DistArray' },
      { kind: 'Accumulator' },
      { kind: 'Rng' },
      { kind: 'IndexSpace', extents: [2] },
      cyclic,
      [cyclic],
      new Custom(),
      Object.freeze({ p: 1 }),
      new Float64Array([1, 2]),
      Object.create(null),
      new BigInt64Array([1n]),
      new DataView(new ArrayBuffer(8)),
      new Date(Number.NaN),
      /odd/g,
      new Map([[1, 2]]),
      new WeakMap(),
      Promise.resolve(1),
      (): number => 1,
      (x: unknown): unknown => x,
      Math.max,
    ),
  },
)

type Use = (z: never) => unknown

/** Each puts `z` in one place. What it gives is awaited; arrays and loops are explained and run. */
const USES: Readonly<Record<string, Use>> = {
  fromRows: (z) => session.fromRows(z),
  'fromRows of one': (z) => session.fromRows([z]),
  'fromRows of a field': (z) => session.fromRows([{ x: 1 }, { x: z }]),
  fromColumns: (z) => session.fromColumns(z),
  'fromColumns of one': (z) => session.fromColumns({ x: z }),
  fromArrow: (z) => session.fromArrow(z),
  readParquet: (z) => session.readParquet(z),
  readCsv: (z) => session.readCsv(z),
  readNdjson: (z) => session.readNdjson(z),
  readText: (z) => session.readText([z]),
  readFiles: (z) => session.readFiles([], z),
  zeros: (z) => session.zeros([z]),
  'the shape of zeros': (z) => session.zeros(short(z)),
  range: (z) => session.range(z),
  fill: (z) => session.fill([2], z),
  'fill of i64': (z) => session.fill([2], z, { dtype: 'i64' }),
  dtype: (z) => session.zeros([2], { dtype: z }),
  set: (z) => session.zeros([3]).set(z, 1),
  'set of a value': (z) => session.sparse([3], { dtype: 'object' }).set([1], z),
  at: (z) => session.zeros([3]).at(z),
  row: (z) => session.zeros([3, 2]).row(z),
  slice: (z) => session.zeros([3]).slice(z),
  'slice of one': (z) => session.zeros([3]).slice([z]),
  'slice of a range': (z) => session.zeros([3]).slice([[0, z]]),
  assign: (z) => session.zeros([3]).assign([null], z),
  'assign to': (z) => session.zeros([3]).assign(z, 1),
  select: (z) => table().select(z),
  map: (z) => table().map(z),
  limit: (z) => table().limit(z),
  preview: (z) => table().preview(z),
  join: (z) => table().join(z, 'a' as never),
  'join on': (z) => table().join(table(), z),
  'join with options': (z) => table().join(table(), 'a', z),
  repartition: (z) => table().repartition(z),
  shuffleKeys: (z) => session.zeros([3]).shuffleKeys(z),
  agg: (z) =>
    table()
      .groupBy((r) => r.b)
      .agg(z),
  'agg of one': (z) =>
    table()
      .groupBy((r) => r.b)
      .agg({ total: sum((r) => r.a), z }),
  collect: (z) => table().collect(z),
  'explain of a table': (z) => table().explain(z),
  'a captured value': (z) => table().map(() => z),
  'a captured field': (z) => table().withColumns((r) => ({ n: r.a, z })),
  'a captured threshold': (z) => table().filter((r) => r.a < z || r.b === z),
  'a captured key': (z) =>
    table()
      .groupBy(() => z)
      .count(),
  'flatMap of a captured value': (z) => table().flatMap(() => [z]),
  accumulator: (z) => session.accumulator(z),
  'init of an accumulator': (z) => session.accumulator({ init: z, combine: (a) => a }),
  rng: (z) => session.rng(z),
  'what a loop runs over': (z) => session.loop(z, {}, (() => {}) as never),
  'env of a loop': (z) => session.loop(session.range(2), z, () => {}),
  'body of a loop': (z) => session.loop(session.range(2), {}, z),
  'options of a loop': (z) => session.loop(session.range(2), {}, () => {}, z),
  'order of a loop': (z) => loopWith({ order: z }),
  'name of a loop': (z) => loopWith({ name: z }),
  'assume of a loop': (z) => loopWith({ assume: z }),
  'promises of a loop': (z) => loopWith({ assume: { distinct: z } }),
  'a promise of a loop': (z) => loopWith({ assume: { distinct: [z] } }),
  'partitions of a loop': (z) => loopWith({ partitions: z }),
  run: (z) => loopWith({}).run(z),
  'signal of a run': (z) => loopWith({}).run({ signal: z }),
  'explain of a loop': (z) => loopWith({}).explain(z),
  'a value of env': (z) =>
    session.loop(session.range(4), { a: session.zeros([4]), z: z as number }, ([i], { a, z }) => {
      if (i < z || i === z) a.set(i, z)
    }),
  'a subscript of env': (z) =>
    session.loop(session.range(4), { a: session.zeros([4]), z: z as Float64Array }, ([i], { a, z }) => {
      a.set((i + Number(z)) % 4, z[i] as number)
    }),
  'a captured value of a body': (z) => {
    const a = session.zeros([4])
    return session.loop(session.range(4), { a }, ([i], { a }) => {
      for (let k = 0; k < 4; k++) if (k < z || i >= z) a.set(i, a.get(i) + k * z)
    })
  },
}

function table() {
  return session.fromRows([
    { a: 1, b: 'x' },
    { a: 2, b: 'y' },
  ])
}

function loopWith(options: object) {
  const a = session.zeros([2])
  return session.loop(session.range(2), { a }, ([i], { a }) => a.set(i, 1), options)
}

/** Shapes of any numbers would ask for more memory than there is: that is another matter. */
function short(z: unknown): never {
  return (Array.isArray(z) ? z.slice(0, 1) : z) as never
}

function isTyped(error: unknown): boolean {
  return [PlanError, LoopError, TaskError, SourceError, MemoryError].some((kind) => error instanceof kind)
}

async function use(z: unknown, of: Use): Promise<void> {
  const made = (await of(z as never)) as Record<string, ((options?: object) => unknown) | undefined> | null | undefined
  if (typeof made !== 'object' || made === null) return
  if (made.explain === undefined) return
  JSON.parse(String(made.explain({ format: 'json' })))
  made.explain()
  if (made.run !== undefined) {
    made.explain({ kernel: true })
    await made.run()
    made.explain()
  } else {
    made.explain({ verbose: true })
    await made.collect?.()
  }
}

test('any value in any place runs, or fails with an error of the library', async () => {
  await fc.assert(
    fc.asyncProperty(anything, fc.constantFrom(...Object.entries(USES)), async (z, [name, of]) => {
      try {
        await use(z, of)
      } catch (error) {
        if (!isTyped(error)) throw new Error(`${name}: ${(error as Error).stack}`) // of the library or of the platform
      }
    }),
    RUN,
  )
})

test('a typed array whose buffer was transferred is an empty one to bodies', async () => {
  const gone = new Float64Array(2)
  structuredClone(gone.buffer, { transfer: [gone.buffer] })
  const a = session.zeros([4])
  const loop = session.loop(session.range(4), { a }, ([i], { a }) => a.set(i, gone.length + (gone[i] ?? 7)))
  loop.explain()
  await loop.run()
  expect(await a.collect()).toEqual([7, 7, 7, 7])
})
