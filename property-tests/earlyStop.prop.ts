/**
 * Actions that want the first elements only run no more than they need: partitions are computed one after another until
 * enough elements have come, whatever kinds of functions are in the chain, and a function that runs as it stands is called
 * for the rows of those partitions and no others, for any number of workers. Where one shares variables with another, the
 * other one has all rows first. The elements are those of plain arrays.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, ROWS_IN_A_PIECE, tableOfRows } from './piecemeal.ts'

const LAW = announcedRun('earlyStop.prop.ts')
const { engines, stop } = piecemealEngines([1, 2, 3])
afterAll(stop)

interface Row {
  readonly a: number
}
const ROWS: readonly Row[] = Array.from({ length: 41 }, (_, i) => ({ a: (i * 7) % 11 }))
const source = tableOfRows(ROWS)
const tables = engines.map((engine) => new DistArray<Row>(engine, source))

/** Functions of a row by the step's number: `n0` counts the calls of the first one where that runs as it stands. */
const STEPS = {
  map: () => '({ a: r.a + 5 })',
  filter: () => 'r.a % 4 !== 1',
  mapCopy: () => "({ a: Number(String(r.a).replace(/x/, () => '')) * 2 })",
  filterCopy: () => '/[02468]$/.test(String(r.a))',
  flatMapCopy: () => '[{ a: r.a }, { a: r.a + 1 }].slice([r.a][0] % 3)',
  mapAsIs: (at: number) => `{ n${at}++; return { a: r.a + 1 } }`,
  filterAsIs: (at: number) => `{ n${at}++; return r.a % 3 !== 0 }`,
  mapReading: (at: number) => `{ n${at}++; return { a: r.a + n0 } }`,
} as const
type Step = keyof typeof STEPS

const ACTIONS = {
  take: async (t: DistArray<Row>, n: number) => await t.take(n),
  limit: async (t: DistArray<Row>, n: number) => await t.limit(n).collect(),
  first: async (t: DistArray<Row>, n: number) => (n === 0 ? [] : [await t.first()].filter((row) => row !== undefined)),
  iterate: async (t: DistArray<Row>, n: number) => {
    const rows: Row[] = []
    if (n === 0) return rows
    for await (const row of t) if (rows.push(row) === n) break
    return rows
  },
}

interface Program {
  readonly functions: readonly ((r: Row) => never)[]
  /** How often each was called. */
  readonly calls: () => readonly number[]
}

function programOf(steps: readonly Step[]): Program {
  const names = steps.map((_, at) => `n${at}`)
  return new Function(`let ${names.map((name) => `${name} = 0`).join(', ')}
  return { functions: [${steps.map((step, at) => `(r) => ${STEPS[step](at)}`).join(', ')}], calls: () => [${names.join(', ')}] }`)() as Program
}

/** Its name begins with the method; all three are called in one way. */
const methodOf = (step: Step): 'map' => /^(map|filter|flatMap)/.exec(step)?.[0] as 'map'
const runsAsIs = (step: Step): boolean => /AsIs|Reading/.test(step)

/** Whether another function that runs as it stands has a variable of this one. */
function sharesVariables(steps: readonly Step[], at: number): boolean {
  const variables = (i: number): readonly number[] => (steps[i] === 'mapReading' ? [i, 0] : [i])
  return steps.some((step, i) => i !== at && runsAsIs(step) && variables(i).some((name) => variables(at).includes(name)))
}

/** Partitions of plain rows, computed as they are asked for. */
function plainly(steps: readonly Step[], { functions }: Program): Iterator<readonly Row[]> {
  let partitions: Iterable<readonly Row[]> = Array.from({ length: Math.ceil(ROWS.length / ROWS_IN_A_PIECE) }, (_, i) =>
    ROWS.slice(i * ROWS_IN_A_PIECE, (i + 1) * ROWS_IN_A_PIECE),
  )
  // what is whole is done: only functions from here on take turns
  let since = 0
  for (const [at, step] of steps.entries()) {
    const asIs = steps.slice(0, at + 1).flatMap((one, i) => (i >= since && runsAsIs(one) ? [i] : []))
    const waits = runsAsIs(step) && asIs.length > 1 && asIs.some((i) => sharesVariables(steps, i))
    if (waits) since = at
    const input = waits ? allOf(partitions) : partitions
    partitions = stepped(input, (rows) => rows[methodOf(step)](functions[at] as never) as readonly Row[])
  }
  return partitions[Symbol.iterator]()
}

/** All of them as soon as the first is asked for. */
function* allOf(partitions: Iterable<readonly Row[]>): Generator<readonly Row[]> {
  yield* [...partitions]
}

function* stepped(partitions: Iterable<readonly Row[]>, run: (rows: readonly Row[]) => readonly Row[]): Generator<readonly Row[]> {
  for (const rows of partitions) yield run(rows)
}

test('the first elements cost the partitions that they come from', async () => {
  const made = fc.record({
    steps: fc.array(fc.constantFrom(...(Object.keys(STEPS) as Step[])), { minLength: 1, maxLength: 4 }),
    action: fc.constantFrom(...(Object.keys(ACTIONS) as (keyof typeof ACTIONS)[])),
    n: fc.nat(30),
    which: fc.nat(tables.length - 1),
  })
  await fc.assert(
    fc.asyncProperty(made, async ({ steps, action, n, which }) => {
      const program = programOf(steps)
      let table = tables[which] as DistArray<Row>
      for (const [at, step] of steps.entries()) table = table[methodOf(step)](program.functions[at] as never) as DistArray<Row>
      const got = await ACTIONS[action](table, n)

      const wanted = action === 'first' ? Math.min(n, 1) : n
      const plain = programOf(steps)
      const partitions = plainly(steps, plain)
      const rows: Row[] = []
      while (rows.length < wanted) {
        const next = partitions.next()
        if (next.done === true) break
        rows.push(...next.value)
      }
      expect(got).toStrictEqual(rows.slice(0, wanted))
      const called = (calls: readonly number[]) => calls.filter((_, at) => runsAsIs(steps[at] as Step))
      expect(called(program.calls())).toStrictEqual(called(plain.calls()))
    }),
    LAW,
  )
})
