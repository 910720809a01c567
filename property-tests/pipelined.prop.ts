/**
 * Law: the optimizer's mark decides what is streamed and what is stored. Of a random chain,
 *
 *     every array that is marked pipelined goes from its step to the next partition by partition, in one pipeline or over a
 *     streamed edge, and every other one is stored, or is part of what its wide operator stores;
 *     of no streamed edge more rows are there at a time than in the few partitions that are computed ahead;
 *     the result is that of plain arrays.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import type { Batch } from '../src/core/data/column.ts'
import type { FoldKind } from '../src/core/engine.ts'
import { first, sum } from '../src/core/plan/aggregates.ts'
import { inputsOf, type LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { planText } from '../src/core/plan/tree.ts'
import { rowNumber } from '../src/core/plan/windows.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import type { ExecutorOptions, RunOptions } from '../src/exec/tables/executorOptions.ts'
import { PlanRecord } from '../src/exec/tables/planRecord.ts'
import { type PhysicalPlan, type Step as PhysicalStep, inputsOf as physicalInputs } from '../src/planner/physical/physicalPlan.ts'
import { stagesText } from '../src/planner/physical/stages.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOfRows } from './piecemeal.ts'

const RUN = announcedRun('pipelined.prop.ts')

/** A plan that ran, as the executor got it and as it was lowered, with what was counted. */
interface Ran {
  readonly logical: LogicalPlan
  readonly first: boolean
  readonly physical: PhysicalPlan
  readonly record: PlanRecord
}

const ran: Ran[] = []

/** Remembers what it ran. */
class Watched extends Executor {
  private readonly lowering: ExecutorOptions['lower']
  constructor(options: ExecutorOptions) {
    const { lower } = options
    super({ ...options, lower: (plan, how) => this.lowered(plan, how) })
    this.lowering = lower
  }

  private now: PhysicalPlan | undefined

  private lowered(plan: LogicalPlan, how: Parameters<ExecutorOptions['lower']>[1]): PhysicalPlan {
    this.now = this.lowering(plan, how)
    return this.now
  }

  private watched(logical: LogicalPlan, first: boolean, record: PlanRecord): void {
    if (this.now !== undefined) ran.push({ logical, first, physical: this.now, record })
  }

  override async execute(plan: LogicalPlan, options: RunOptions = {}): Promise<readonly Batch[]> {
    const record = new PlanRecord()
    const batches = await super.execute(plan, { ...options, record })
    this.watched(plan, false, record)
    return batches
  }

  override async *stream(plan: LogicalPlan, options: RunOptions = {}): AsyncGenerator<Batch, void, undefined> {
    const record = new PlanRecord()
    yield* super.stream(plan, { ...options, record })
    this.watched(plan, options.isUntyped === true, record)
  }

  override async fold(plan: LogicalPlan, kind: FoldKind, options: RunOptions = {}): ReturnType<Executor['fold']> {
    return await super.fold(plan, kind, options)
  }
}

const WORKERS = [1, 2, 3]
const { engines, stop } = piecemealEngines(WORKERS, 4, (options) => new Watched(options))
afterAll(stop)

interface Row {
  readonly n: number
  readonly g: number
  readonly a: number
}
type Handle = DistArray<Row>

const ROWS: readonly Row[] = Array.from({ length: 70 }, (_, n) => ({ n, g: (n * n) % 5, a: (n * 7) % 11 }))
const OTHERS: readonly { readonly k: number; readonly b: number }[] = [0, 1, 3].map((k) => ({ k, b: 10 * k }))
const source = tableOfRows(ROWS)
const otherSource = tableOfRows(OTHERS)
const tables = engines.map((engine) => new DistArray<Row>(engine, source))
const others = engines.map((engine) => new DistArray<{ k: number; b: number }>(engine, otherSource))

/** Functions by the step's number: `n0` counts the calls of the first where that runs as it stands. */
const FUNCTIONS = {
  map: () => '({ n: r.n, g: r.g, a: r.a + 5 })',
  filter: () => 'r.a % 4 !== 1',
  flatMap: () => "[{ n: r.n, g: r.g, a: r.a }, { n: r.n, g: r.g, a: r.a + 1 }].slice(Number(String(r.a % 3).replace(/x/, () => '')))",
  withColumns: () => '({ a: r.a - r.g })',
  mapCopy: () => "({ n: r.n, g: r.g, a: Number(String(r.a).replace(/x/, () => '')) * 2 })",
  filterCopy: () => '/[02468]$/.test(String(r.a))',
  mapKey: () => '({ n: r.n, g: r.g, a: r.a + key[0] })',
  filterKey: () => 'key[0] % 3 !== 1',
  mapAsIs: (at: number) => `{ n${at}++; return { n: r.n, g: r.g, a: r.a + 1 } }`,
  filterAsIs: (at: number) => `{ n${at}++; return r.a % 3 !== 0 }`,
  mapReading: (at: number) => `{ n${at}++; return { n: r.n, g: r.g, a: r.a + n0 } }`,
} as const
const OTHER_STEPS = [
  'select',
  'union',
  'unionOfParts',
  'unionWithSorted',
  'limit',
  'groups',
  'join',
  'sort',
  'mapPartitions',
  'distinct',
  'window',
  'windowOfAll',
] as const
type Called = keyof typeof FUNCTIONS
type Step = Called | (typeof OTHER_STEPS)[number]

const STEPS: readonly Step[] = [...(Object.keys(FUNCTIONS) as Called[]), ...OTHER_STEPS]

type RowFunction = (r: Row, key: readonly [number]) => never

function programOf(steps: readonly Step[]): readonly RowFunction[] {
  const names = steps.map((_, at) => `n${at}`)
  const functions = steps.map((step, at) => (step in FUNCTIONS ? `(r, key) => ${FUNCTIONS[step as Called](at)}` : '() => 0'))
  // functions that do not look at the key have none
  const text = functions.map((f) => (f.includes('key[0]') ? f : f.replace('(r, key)', '(r)'))).join(', ')
  return new Function(`let ${names.map((name) => `${name} = 0`).join(', ')}\nreturn [${text}]`)() as readonly RowFunction[]
}

const methodOf = (step: Called): 'map' => /^(map|filter|flatMap|withColumns)/.exec(step)?.[0] as 'map'

function onHandle(t: Handle, step: Step, f: RowFunction, other: (typeof others)[number]): Handle {
  switch (step) {
    case 'select':
      return t.select('a', 'g', 'n') as unknown as Handle // the same columns
    case 'union':
      return t.union(t)
    case 'unionOfParts':
      return t.filter((r) => r.a > 5).union(t.map((r) => ({ n: r.n, g: r.g, a: r.a + 100 })))
    case 'unionWithSorted':
      return t.union(t.sortBy((r) => r.a))
    case 'limit':
      return t.limit(45)
    case 'groups':
      return t
        .groupBy((r) => r.g)
        .agg({ a: sum((r) => r.a), n: first((r) => r.n) })
        .map((r) => ({ n: r.n as number, g: r.key, a: r.a })) as unknown as Handle
    case 'join':
      return t.join(other, { left: (r) => r.n % 5, right: (o) => o.k }).map((r) => ({ n: r.n, g: r.g, a: r.a + r.b })) as unknown as Handle
    case 'sort':
      return t.sortBy((r) => r.a)
    case 'mapPartitions':
      return t.mapPartitions((values) => Array.from(values, (r) => ({ n: r.n, g: r.g, a: r.a * 2 })))
    case 'distinct':
      return t.distinct()
    case 'window':
      return t.window({ by: (r) => r.g, orderBy: (r) => r.a, frame: { rows: [null, 0] } }, { a: sum((r) => r.a) })
    case 'windowOfAll':
      return t.window({}, { a: rowNumber() })
    default:
      return t[methodOf(step)](f as never) as unknown as Handle
  }
}

/** An array that is computed anew by each who reads it. */
type Plain = () => readonly Row[]

function onRows(t: Plain, step: Step, f: RowFunction): Plain {
  switch (step) {
    case 'select':
      return t
    case 'union':
      return () => [...t(), ...t()]
    case 'unionOfParts':
      return () => [...t().filter((r) => r.a > 5), ...t().map((r) => ({ ...r, a: r.a + 100 }))]
    case 'unionWithSorted':
      return () => [...t(), ...[...t()].sort((x, y) => x.a - y.a)]
    case 'limit':
      return () => t().slice(0, 45)
    case 'groups':
      return () => {
        const groups = new Map<number, Row>()
        for (const { n, g, a } of t()) groups.set(g, { n: groups.get(g)?.n ?? n, g, a: (groups.get(g)?.a ?? 0) + a })
        return [...groups.values()]
      }
    case 'join':
      return () =>
        t().flatMap((r) => {
          const match = OTHERS.find(({ k }) => k === r.n % 5)
          return match === undefined ? [] : [{ ...r, a: r.a + match.b }]
        })
    case 'sort':
      return () => [...t()].sort((x, y) => x.a - y.a)
    case 'mapPartitions':
      return () => t().map((r) => ({ ...r, a: r.a * 2 }))
    case 'distinct':
      return () => t().filter((r, i, all) => all.findIndex((one) => one.n === r.n && one.g === r.g && one.a === r.a) === i)
    case 'window':
      return () => {
        const totals = new Map<number, number>()
        const rows = t()
        const at = rows.map((_, i) => i).sort((i, j) => (rows[i] as Row).a - (rows[j] as Row).a)
        const sums = new Map(
          at.map((i) => {
            const { g, a } = rows[i] as Row
            totals.set(g, (totals.get(g) ?? 0) + a)
            return [i, totals.get(g) as number]
          }),
        )
        return rows.map((r, i) => ({ ...r, a: sums.get(i) as number }))
      }
    case 'windowOfAll':
      return () => t().map((r, i) => ({ ...r, a: i + 1 }))
    default: {
      const method = methodOf(step)
      const called = (r: Row, i: number): unknown => f(r, [i])
      return method === ('withColumns' as string)
        ? () => t().map((r, i) => ({ ...r, ...(called(r, i) as object) }))
        : () => t()[method](called as never) as readonly Row[]
    }
  }
}

const ACTIONS = {
  collect: { on: async (t: Handle) => await t.collect(), plain: (rows: readonly Row[]) => rows },
  iterate: {
    on: async (t: Handle) => {
      const rows: Row[] = []
      for await (const row of t) rows.push(row)
      return rows
    },
    plain: (rows: readonly Row[]) => rows,
  },
  batches: {
    on: async (t: Handle) => {
      let rows = 0
      for await (const batch of t.batches()) rows += batch.numRows
      return rows
    },
    plain: (rows: readonly Row[]) => rows.length,
  },
  sum: {
    on: async (t: Handle) => await t.map((r) => r.a).sum(),
    plain: (rows: readonly Row[]) => rows.reduce((total, { a }) => total + a, 0),
  },
  count: { on: async (t: Handle) => await t.count(), plain: (rows: readonly Row[]) => rows.length },
  index: {
    on: async (t: Handle) => await t.index((r) => [r.n], { combine: (x, _) => x }).collect(),
    plain: (rows: readonly Row[]) => {
      const byKey = new Map<number, Row>()
      for (const row of rows) if (!byKey.has(row.n)) byKey.set(row.n, row)
      return [...byKey.values()].sort((x, y) => x.n - y.n)
    },
  },
} as const

const program = fc.record({
  steps: fc.array(fc.constantFrom(...STEPS), { minLength: 1, maxLength: 5 }),
  action: fc.constantFrom(...(Object.keys(ACTIONS) as (keyof typeof ACTIONS)[])),
  which: fc.nat(engines.length - 1),
})

test('what is marked pipelined is streamed and never whole, and nothing else is', async () => {
  const counts = { streamed: 0, large: 0, fused: 0, stored: 0 }
  await fc.assert(
    fc.asyncProperty(program, async ({ steps, action, which }) => {
      // how often a function is called below a limit follows from the partitions
      const used = steps.includes('limit') ? steps.map((step) => (step === 'mapReading' ? 'mapAsIs' : step)) : steps
      ran.length = 0
      const functions = programOf(used)
      let table = tables[which] as Handle
      for (const [at, step] of used.entries())
        table = onHandle(table, step, functions[at] as RowFunction, others[which] as (typeof others)[number])
      const result = await ACTIONS[action].on(table)
      const again = programOf(used)
      let rows: Plain = () => ROWS
      for (const [at, step] of used.entries()) rows = onRows(rows, step, again[at] as RowFunction)
      expect(result).toStrictEqual(ACTIONS[action].plain(rows()))
      for (const one of ran) {
        const words = `${planText(one.logical)}\n${stagesText(one.physical)}`
        const ways = waysOf(one.physical)
        expect(ways, words).toStrictEqual(marksOf(one.logical, one.first))
        for (const way of ways) counts[way.endsWith('streamed') ? 'fused' : 'stored']++
        for (const [plan, { most, part, all }] of one.record.rowsKept()) {
          if (plan.edge?.kind !== 'streamed' || !isBetween(plan, one.physical)) continue
          const ahead = ((WORKERS[which] as number) + 1) * part
          expect(most, `${words}\nof ${plan.kind}`).toBeLessThanOrEqual(ahead)
          counts.streamed++
          if (all > ahead) counts.large++
        }
      }
    }),
    RUN,
  )
  console.log(`pipelined: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 300) expect(counts.large).toBeGreaterThan(RUN.numRuns / 10)
})

/** Whether the plan is below another: the edge of the whole is the action's. */
function isBetween(plan: PhysicalPlan, root: PhysicalPlan): boolean {
  return plan !== root && plan.kind !== 'ScanExec'
}

const FLOWING = ['Map', 'Filter', 'WithColumns', 'FlatMap', 'MapPartitions', 'Project', 'Cast', 'Sample', 'Limit', 'Union']

/** Of each array that flows between two nodes, last first, what its mark says. `first`: perhaps only the first elements are wanted. */
function marksOf(plan: LogicalPlan, first: boolean): readonly string[] {
  return inputsOf(plan).flatMap((input) => {
    const own = plan.kind === 'Limit' || (first && FLOWING.includes(plan.kind))
    const isStreamed = input.pipelined === true || (input.pipelined === 'first' && own)
    const below = marksOf(input, isStreamed && own)
    return FLOWING.includes(input.kind) ? [`${input.kind} ${isStreamed ? 'streamed' : 'stored'}`, ...below] : below
  })
}

/** The same as the physical plan has it. */
function waysOf(plan: PhysicalPlan): readonly string[] {
  return arraysOf(plan, undefined)
}

function arraysOf(plan: PhysicalPlan, above: PhysicalPlan | undefined): readonly string[] {
  const below = physicalInputs(plan).flatMap((input) => arraysOf(input, plan))
  if (plan.kind === 'LimitExec' || plan.kind === 'UnionExec') {
    const own = above === undefined ? [] : [`${plan.kind.replace('Exec', '')} ${wayTo(plan, above)}`]
    return [...own, ...below]
  }
  if (plan.kind !== 'PipelineExec') return below
  const steps = plan.steps.filter((step) => step.kind !== 'ProjectExec' || step.isAdded !== true)
  const own = steps.flatMap((step, i) => {
    const next = steps[i + 1]
    const kind = step.kind.replace('Exec', '')
    if (!FLOWING.includes(kind) || kind === 'Limit' || (next === undefined && above === undefined)) return []
    if (next !== undefined) return [`${kind} ${keeps(next) ? 'stored' : 'streamed'}`]
    return above === undefined ? [] : [`${kind} ${wayTo(plan, above)}`]
  })
  return [...own.reverse(), ...below]
}

function wayTo(plan: PhysicalPlan, above: PhysicalPlan): 'streamed' | 'stored' {
  if (above.kind === 'WideExec' || plan.edge?.kind !== 'streamed') return 'stored'
  const [next] = above.kind === 'PipelineExec' ? above.steps : []
  return next !== undefined && keeps(next) ? 'stored' : 'streamed'
}

/** Steps that a wide operator begins with, whose results hold the elements and are stored. */
function keeps(step: PhysicalStep): boolean {
  return step.kind === 'PartialDistinctExec' || step.kind === 'KeysExec' || (step.kind === 'EvaluateExec' && step.payload !== false)
}
