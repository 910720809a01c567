/**
 * Fast and relaxed precision multiply factors that do not change in a loop out before it. That rounds otherwise than the
 * body does, but by no more than a few times what the body's own operations may be off, each of which is known: differences
 * of numbers that are nearly equal, which are exact, stay as they are. Nothing depends on where iterations are cut.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Precision } from '../src/core/loop/loopSpec.ts'
import { shortPassesOnWorkers } from '../src/session/runtime.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'
import { relaxedSimd } from './relaxedEngine.ts'

const RUN = announcedRun('regrouped.prop.ts')
const PRECISIONS: readonly Precision[] = relaxedSimd('regrouped.prop.ts') ? ['fast', 'relaxed'] : ['fast']
const ROWS = 2
/** So many times as far off as the body itself may be. */
const TIMES = 2
/** Half of the distance between 1 and the next number. */
const UNIT = { f32: 2 ** -24, f64: 2 ** -53 } as const

let sessions: readonly Session[] = []
beforeAll(async () => {
  const options = { progress: false, ...shortPassesOnWorkers }
  sessions = await Promise.all([1, 3].map((workers) => Session.start({ workers, ...options })))
})
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

type Name = 'x' | 'y' | 'z'
type Node =
  | { readonly kind: 'element'; readonly array: Name }
  /** The index along the row. */
  | { readonly kind: 'index' }
  | { readonly kind: 'local'; readonly name: 'p' | 'q' }
  /** `sum` is made by a loop before; the others are captured. */
  | { readonly kind: 'factor'; readonly name: 'a' | 'b' | 'sum' }
  | { readonly kind: 'literal'; readonly value: number }
  | { readonly kind: 'negative'; readonly of: Node }
  | { readonly kind: '+' | '-' | '*'; readonly left: Node; readonly right: Node }
type Step =
  | { readonly kind: 'let'; readonly local: 'p' | 'q'; readonly value: Node }
  | { readonly kind: 'set'; readonly array: Name; readonly value: Node }
  | { readonly kind: 'add'; readonly array: Name; readonly value: Node }

function textOf(node: Node): string {
  switch (node.kind) {
    case 'element':
      return `${node.array}.get(i, k)`
    case 'index':
      return 'k'
    case 'local':
    case 'factor':
      return node.name
    case 'literal':
      return String(node.value)
    case 'negative':
      return `-(${textOf(node.of)})`
    default:
      return `(${textOf(node.left)} ${node.kind} ${textOf(node.right)})`
  }
}

function stepText(step: Step): string {
  if (step.kind === 'let') return `const ${step.local} = ${textOf(step.value)}`
  return `${step.array}.${step.kind}(i, k, ${textOf(step.value)})`
}

// ---------------------------------------------------------------- what is expected, and how far off it may be

interface Near {
  readonly value: number
  /** How far from it operations that round may come. */
  readonly off: number
}

type Known = ReadonlyMap<string, Near>

function nearOf(node: Node, known: Known, unit: number): Near {
  const rounded = (value: number, off: number): Near => ({ value, off: off + unit * Math.abs(value) })
  switch (node.kind) {
    case 'element':
      return known.get(node.array) ?? NONE
    case 'index':
      return known.get('k') ?? NONE
    case 'local':
    case 'factor':
      return known.get(node.name) ?? NONE
    case 'literal':
      return rounded(node.value, 0)
    case 'negative': {
      const { value, off } = nearOf(node.of, known, unit)
      return { value: -value, off }
    }
    case '*': {
      const [a, b] = [nearOf(node.left, known, unit), nearOf(node.right, known, unit)]
      return rounded(a.value * b.value, a.off * Math.abs(b.value) + b.off * Math.abs(a.value) + a.off * b.off)
    }
    default: {
      const [a, b] = [nearOf(node.left, known, unit), nearOf(node.right, known, unit)]
      return rounded(node.kind === '+' ? a.value + b.value : a.value - b.value, a.off + b.off)
    }
  }
}
const NONE: Near = { value: Number.NaN, off: 0 }

/** The elements at one place when all steps are done. */
function expectedAt(steps: readonly Step[], start: Known, unit: number): Known {
  const known = new Map(start)
  for (const step of steps) {
    const near = nearOf(step.value, known, unit)
    if (step.kind === 'let') known.set(step.local, near)
    else if (step.kind === 'set') known.set(step.array, near)
    else {
      const before = known.get(step.array) ?? NONE
      const value = before.value + near.value
      known.set(step.array, { value, off: before.off + near.off + unit * Math.abs(value) })
    }
  }
  return known
}

// ---------------------------------------------------------------- cases

const element = fc.constantFrom<Name>('x', 'y', 'z').map((array): Node => ({ kind: 'element', array }))
const factor = fc.oneof(
  fc.constantFrom('a' as const, 'b' as const, 'sum' as const).map((name): Node => ({ kind: 'factor', name })),
  fc.constantFrom(0.5, 2, 3, 0.1, -1).map((value): Node => ({ kind: 'literal', value })),
)
const pair = (kind: '+' | '-' | '*', left: Node, right: Node): Node => ({ kind, left, right })
const sign = fc.constantFrom('+' as const, '-' as const)

/** Expressions whose leaves are elements, factors and the locals that there are. */
function expressions(locals: readonly ('p' | 'q')[]): fc.Arbitrary<Node> {
  const some = locals.map((name) => ({ weight: 3, arbitrary: fc.constant<Node>({ kind: 'local', name }) }))
  const atom = fc.oneof({ weight: 8, arbitrary: element }, { weight: 1, arbitrary: fc.constant<Node>({ kind: 'index' }) }, ...some)
  const product = fc.tuple(factor, atom, fc.boolean()).map(([f, x, first]) => (first ? pair('*', f, x) : pair('*', x, f)))
  const shapes = fc.letrec<{ sum: Node; any: Node }>((tie) => ({
    sum: fc.tuple(sign, product, fc.oneof({ weight: 3, arbitrary: product }, tie('any'))).map(([s, a, b]) => pair(s, a, b)),
    any: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { weight: 2, arbitrary: atom },
      { weight: 1, arbitrary: factor },
      { weight: 2, arbitrary: fc.tuple(factor, tie('any')).map(([f, x]) => pair('*', f, x)) },
      { weight: 3, arbitrary: fc.tuple(sign, tie('any'), tie('any')).map(([s, a, b]) => pair(s, a, b)) },
      { weight: 1, arbitrary: fc.tuple(tie('any'), tie('any')).map(([a, b]) => pair('*', a, b)) },
      { weight: 1, arbitrary: tie('any').map((of): Node => ({ kind: 'negative', of })) },
      { weight: 3, arbitrary: fc.tuple(sign, tie('any'), factor, tie('sum')).map(([s, x, f, sum]) => pair(s, x, pair('*', f, sum))) },
      // What the body means to be exact.
      { weight: 1, arbitrary: fc.tuple(atom, factor, atom, factor).map(([x, f, y, g]) => pair('*', g, pair('*', f, pair('-', x, y)))) },
      { weight: 1, arbitrary: fc.tuple(atom, atom).map(([x, y]) => pair('-', pair('-', pair('+', x, y), x), y)) },
    ),
  }))
  return shapes.any
}

const steps: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    expressions([]),
    expressions(['p']),
    expressions(['p', 'q']),
    expressions(['p', 'q']),
    fc.array(fc.constantFrom<Name>('x', 'y', 'z'), { minLength: 3, maxLength: 3 }),
    fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
  )
  .map(([p, q, one, two, [first = 'x', second = 'y', third = 'z'], [before, between, adds, last]]) => [
    ...(before ? [set(first, pair('+', { kind: 'element', array: first }, { kind: 'literal', value: 0.5 }))] : []),
    { kind: 'let' as const, local: 'p' as const, value: p },
    ...(between ? [set(second, one.kind === 'local' ? p : withoutQ(one))] : []),
    { kind: 'let' as const, local: 'q' as const, value: q },
    set(first, one),
    ...(last ? [{ kind: adds ? ('add' as const) : ('set' as const), array: third, value: two }] : []),
  ])

function set(array: Name, value: Node): Step {
  return { kind: 'set', array, value }
}

/** The same before `q` is declared. */
function withoutQ(node: Node): Node {
  if (node.kind === 'local') return { kind: 'local', name: 'p' }
  if (node.kind === 'negative') return { kind: 'negative', of: withoutQ(node.of) }
  if (node.kind === '+' || node.kind === '-' || node.kind === '*') return pair(node.kind, withoutQ(node.left), withoutQ(node.right))
  return node
}

interface Case {
  readonly steps: readonly Step[]
  readonly dtype: 'f32' | 'f64'
  readonly precision: Precision
  /** Whether the body has a loop of its own along the row. */
  readonly isInner: boolean
  readonly width: number
  readonly a: number
  readonly b: number
  readonly seed: number
}

const captured = fc.constantFrom(0.001, 0.08, 1, 0.5, -2, 3, 1e-7, 1000, 1 / 3)
const cases: fc.Arbitrary<Case> = fc.record({
  steps,
  dtype: fc.constantFrom('f32' as const, 'f32' as const, 'f64' as const),
  precision: fc.constantFrom(...PRECISIONS),
  isInner: fc.boolean(),
  width: fc.integer({ min: 1, max: 37 }),
  a: captured,
  b: captured,
  seed: fc.nat(1000),
})

test('what is multiplied out is as near to what is meant as the body as it stands', async () => {
  const counts = { inner: 0, iterations: 0, worst: 0 }
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const data = dataOf(one)
      const [first, ...others] = await Promise.all(sessions.map((session, i) => outcomeOf(session, one, data, i === 0 ? 1 : 4)))
      const { values, text } = first ?? { values: [], text: '' }
      for (const other of others) expect(other.values).toEqual(values)
      if (text.includes('factors multiplied out')) counts[one.isInner ? 'inner' : 'iterations']++
      for (const [name, array] of ['x', 'y', 'z'].entries()) {
        for (let at = 0; at < ROWS * one.width; at++) {
          const { value, off } = expectedAt(one.steps, startAt(one, data, at), UNIT[one.dtype]).get(array) ?? NONE
          const is = values[name]?.[at] ?? Number.NaN
          const times = Math.abs(is - value) / (off + Number.MIN_VALUE)
          // In f32 others may be infinite, or lose digits.
          if (!Number.isFinite(Math.fround(value)) || Math.abs(value) < 1e-30) continue
          counts.worst = Math.max(counts.worst, times)
          if (!(times <= TIMES)) {
            throw new Error(`${array}[${at}]: ${is}, not ${value}, ${times} times too far off\n${sourceOf(one)}\n${text}`)
          }
        }
      }
    }),
    RUN,
  )
  console.log(JSON.stringify(counts))
  if (RUN.numRuns < 500) return
  expect(counts.inner).toBeGreaterThan(0.2 * RUN.numRuns)
  expect(counts.iterations).toBeGreaterThan(0.2 * RUN.numRuns)
})

type Data = readonly [x: Float64Array, y: Float64Array, z: Float64Array, n: Float64Array]

/** `y` is nearly `x`, `z` is smaller, and sums of `n` are exact. */
function dataOf({ dtype, width, seed }: Case): Data {
  const round = dtype === 'f32' ? Math.fround : (value: number) => value
  const random = (at: number): number => ((((at + 1) * 7919 + seed * 104729) % 1009) - 504) / 252
  const of = (value: (at: number) => number): Float64Array => Float64Array.from({ length: ROWS * width }, (_, at) => round(value(at)))
  const x = of((at) => random(at) * (at % 5 === 0 ? 1000 : 1))
  const y = of((at) => (at % 3 === 0 ? random(at + 77) : (x[at] ?? 0) * (1 + (at % 7) * UNIT[dtype] * 2)))
  const z = of((at) => random(at + 31) / 64)
  return [x, y, z, of((at) => Math.round(random(at + 5) * 8) / 8)]
}

function startAt({ width, dtype, isInner, a, b }: Case, [x, y, z, n]: Data, at: number): Known {
  const exact = (value: number | undefined): Near => ({ value: value ?? Number.NaN, off: 0 })
  const rounded = (value: number): Near => ({ value, off: UNIT[dtype] * Math.abs(value) })
  const row = Math.floor(at / width) * width
  const sum = isInner ? n.subarray(row, row + width).reduce((s, one) => s + one, 0) : 0.75
  return new Map<string, Near>([
    ...(
      [
        ['x', x],
        ['y', y],
        ['z', z],
      ] as const
    ).map(([name, of]) => [name, exact(of[at])] as const),
    ['k', exact(at - row)],
    ['sum', exact(sum)],
    ['a', rounded(a)],
    ['b', rounded(b)],
  ])
}

function sourceOf({ steps, isInner, width }: Case): string {
  const text = steps.map(stepText).join('; ')
  const loop = (body: string): string => `for (let k = 0; k < ${width}; k++) { ${body} }`
  if (!isInner) return `([i, k], { x, y, z, a, b, sum }) => { ${text} }`
  return `([r], { x, y, z, n, rows, a, b }) => { const i = rows.get(r); let sum = 0; ${loop('sum += n.get(i, k)')} ${loop(text)} }`
}

async function outcomeOf(session: Session, one: Case, data: Data, partitions: number) {
  const { dtype, isInner, width, a, b, precision } = one
  const filled = async (values: ArrayLike<number>, dtype: 'f32' | 'f64' | 'i32', shape: readonly number[]) => {
    const array = session.zeros(shape, { dtype })
    await array.assign(
      shape.map(() => null),
      Float64Array.from(values),
    )
    return array
  }
  const matrices = await Promise.all(data.map((values) => filled(values, dtype, [ROWS, width])))
  const [x, y, z, n] = matrices
  // The kernel cannot know that rows are inside: iterations are no lanes.
  const rows = await filled([0, 1], 'i32', [ROWS])
  const all = { x, y, z, n, rows } as Readonly<Record<string, (typeof matrices)[number]>> // of four arrays and another
  const env = { ...all, a, b, ...(isInner ? {} : { sum: 0.75 }) }
  const body = new Function(`return ${sourceOf(one)}`)() as never // of the text above
  const options = { precision, order: 'any', partitions } as const
  const loop = isInner
    ? session.loop(session.range(ROWS), env, body, options)
    : session.loop(session.range(ROWS, width), env, body, options)
  await loop.run()
  const text = loop.explain({ kernel: true })
  const values = await Promise.all(matrices.slice(0, 3).map(async (array) => Array.from(await array.toTypedArray(), Number)))
  for (const array of [...matrices, rows]) await array.release()
  return { values, text: text.slice(text.indexOf('kernel'), text.indexOf('(module')) }
}
