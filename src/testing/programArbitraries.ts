/**
 * fast-check arbitraries for whole programs: chains of transformations and loop bodies, each with the same program in plain
 * JavaScript as its reference.
 */
import fc from 'fast-check'
import type { DistArray } from '../core/arrays/distArray.ts'
import type { Loop } from '../core/loop/loop.ts'
import { checkOptions } from '../core/options.ts'
import { sum } from '../core/plan/aggregates.ts'
import type { Session } from '../session/session.ts'

/** The rows that generated plans work on: `group` a small integer, `amount` any number. */
export interface PlanRow {
  readonly group: number
  readonly amount: number
}

export interface GeneratedPlan {
  /** The chain as it would be written, for counterexamples. */
  readonly text: string
  readonly rows: readonly PlanRow[]
  /** The chain as a lazy DistArray of the session. */
  build(session: Session): DistArray<PlanRow>
  /** The expected rows, by the methods of plain arrays. */
  expected(): readonly PlanRow[]
}

interface Step {
  readonly text: string
  readonly apply: (array: DistArray<PlanRow>) => DistArray<PlanRow>
  readonly plain: (rows: readonly PlanRow[]) => readonly PlanRow[]
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.integer({ min: -3, max: 3 }).map((least) => ({
    text: `.filter((r) => r.amount > ${least})`,
    apply: (array: DistArray<PlanRow>) => array.filter((r) => r.amount > least),
    plain: (rows: readonly PlanRow[]) => rows.filter((r) => r.amount > least),
  })),
  fc.integer({ min: -3, max: 3 }).map((factor) => ({
    text: `.map((r) => ({ group: r.group, amount: r.amount * ${factor} + 1 }))`,
    apply: (array: DistArray<PlanRow>) => array.map((r) => ({ group: r.group, amount: r.amount * factor + 1 })),
    plain: (rows: readonly PlanRow[]) => rows.map((r) => ({ group: r.group, amount: r.amount * factor + 1 })),
  })),
  fc.nat(12).map((n) => ({
    text: `.limit(${n})`,
    apply: (array: DistArray<PlanRow>) => array.limit(n),
    plain: (rows: readonly PlanRow[]) => rows.slice(0, n),
  })),
  fc.boolean().map((descending) => ({
    text: `.sortBy((r) => r.group, { descending: ${descending} })`,
    apply: (array: DistArray<PlanRow>) => array.sortBy((r) => r.group, { descending }),
    plain: (rows: readonly PlanRow[]) => [...rows].sort((a, b) => (descending ? b.group - a.group : a.group - b.group)),
  })),
  fc.constant({
    text: '.groupBy((r) => r.group).agg({ amount: sum((r) => r.amount) }).map((g) => ({ group: g.key, amount: g.amount }))',
    apply: (array: DistArray<PlanRow>) =>
      array
        .groupBy((r) => r.group)
        .agg({ amount: sum((r: PlanRow) => r.amount) })
        .map((g) => ({ group: g.key, amount: g.amount })),
    plain: (rows: readonly PlanRow[]) => {
      const totals = new Map<number, number>()
      // 0 + amount first, as the sum of a group starts: -0 alone sums to 0. Amounts are small integers: exact in any order.
      for (const { group, amount } of rows) totals.set(group, (totals.get(group) ?? 0) + amount)
      return [...totals].map(([group, amount]) => ({ group, amount }))
    },
  }),
)

/** Chains of up to `maxSteps` (default 4) transformations over a small table. */
export function plans(options: { readonly maxSteps?: number } = {}): fc.Arbitrary<GeneratedPlan> {
  checkOptions('plans()', options, ['maxSteps'])
  const row = fc.record({ group: fc.nat(3), amount: fc.integer({ min: -5, max: 5 }) })
  return fc
    .tuple(fc.array(row, { minLength: 1, maxLength: 30 }), fc.array(step, { maxLength: options.maxSteps ?? 4 }))
    .map(([rows, steps]) => ({
      text: `fromRows(${rows.length} rows)${steps.map(({ text }) => text).join('')}`,
      rows,
      build: (session: Session) => steps.reduce((array, { apply }) => apply(array), session.fromRows<PlanRow>(rows)),
      expected: () => steps.reduce<readonly PlanRow[]>((current, { plain }) => plain(current), rows),
    }))
}

export interface GeneratedLoopBody {
  /** The body's source with its constants, for counterexamples. */
  readonly text: string
  readonly rows: number
  readonly columns: number
  readonly order: 'serial' | 'any'
  /** Makes the arrays and the loop; nothing has run yet. */
  build(session: Session): { readonly loop: Loop; readonly arrays: readonly DistArray<number, readonly [number, number]>[] }
  /** The arrays (row-major) after one pass of the same body as plain JavaScript: the result for order 'serial'. */
  expected(): readonly Float64Array[]
}

/**
 * Bodies over a range(rows, columns) that read A at a constant offset and write A or B, in either order: from
 * independent iterations over wavefronts to loops that must run serially.
 */
export function loopBodies(
  options: { readonly maxExtent?: number; readonly order?: 'serial' | 'any' } = {},
): fc.Arbitrary<GeneratedLoopBody> {
  checkOptions('loopBodies()', options, ['maxExtent', 'order'])
  const extent = fc.integer({ min: 1, max: options.maxExtent ?? 9 })
  const offset = fc.integer({ min: -2, max: 2 })
  const order = options.order === undefined ? fc.constantFrom('serial' as const, 'any' as const) : fc.constant(options.order)
  return fc.record({ rows: extent, columns: extent, di: offset, dj: offset, toItself: fc.boolean(), order }).map((shape) => ({
    text: textOf(shape),
    rows: shape.rows,
    columns: shape.columns,
    order: shape.order,
    build: (session: Session) => buildLoop(session, shape),
    expected: () => plainLoop(shape),
  }))
}

interface LoopShape {
  readonly rows: number
  readonly columns: number
  readonly di: number
  readonly dj: number
  readonly toItself: boolean
  readonly order: 'serial' | 'any'
}

function textOf({ rows, columns, di, dj, toItself, order }: LoopShape): string {
  const guard = `i + ${di} in [0, ${rows}) and j + ${dj} in [0, ${columns})`
  return `range(${rows}, ${columns}), order ${order}: ${toItself ? 'A' : 'B'}[i, j] = A[i, j] + 2 * A[i + ${di}, j + ${dj}] + 1 where ${guard}`
}

function buildLoop(session: Session, { rows, columns, di, dj, toItself, order }: LoopShape): ReturnType<GeneratedLoopBody['build']> {
  const A = session.fill([rows, columns], 1)
  const B = session.zeros([rows, columns])
  const target = toItself ? A : B
  const loop = session.loop(
    session.range(rows, columns),
    { A, target },
    ([i, j], { A, target }) => {
      const y = i + di
      const x = j + dj
      if (y >= 0 && y < rows && x >= 0 && x < columns) target.set(i, j, A.get(i, j) + 2 * A.get(y, x) + 1)
    },
    { order },
  )
  return { loop, arrays: [A, B] }
}

function plainLoop({ rows, columns, di, dj, toItself }: LoopShape): readonly Float64Array[] {
  const A = new Float64Array(rows * columns).fill(1)
  const B = new Float64Array(rows * columns)
  const target = toItself ? A : B
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const y = i + di
      const x = j + dj
      if (y >= 0 && y < rows && x >= 0 && x < columns) {
        target[i * columns + j] = (A[i * columns + j] ?? 0) + 2 * (A[y * columns + x] ?? 0) + 1
      }
    }
  }
  return [A, B]
}
