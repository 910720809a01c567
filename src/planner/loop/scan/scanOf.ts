/**
 * Recognizes scans: loops in which all that iterations hand on to one another are running sums, extremes, bits or counts.
 *
 * Blelloch, Prefix sums and their applications (1990). Iterations are cut into chunks. What a chunk makes of a carried value s is
 * s op E, or E; E is found by running what the body does to the value, from nothing. Going through the chunks in their order gives what
 * each is handed, and with that all of them run the body side by side.
 *
 *     x      3  1  4 | 1  5  9 | 2  6
 *     E            8        15
 *     seeds  0         8         23
 *     out    3  4  8 | 9 14 23 | 25 31
 *
 * Statement: the loop of chunks has the bits of the serial loop, if
 *   - iterations depend on each other through carried values alone, and through arrays that a count fills (`carried.ts`)
 *   - op is associative, with the bits that it has: whole numbers that are exact or taken modulo a power of 2, min, max, and, or, xor
 *   - no access can fail, and what decides on E reads nothing that the loop writes.
 * What only the data tells, that sums of whole numbers stay exact and that a count stays inside what it fills, a run looks at before
 * it writes anything.
 */
import { ARRAY_OF_DTYPE } from '../../../core/arrays/storage.ts'
import type { DType } from '../../../core/data/schema.ts'
import { type Expr, expressionsOf, type FunctionIr, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import type { Carry, EnvBinding, LoopSpec, ScanOperator } from '../../../core/loop/loopSpec.ts'
import type { Refusal } from '../../../core/span.ts'
import type { Access } from '../accesses/accesses.ts'
import { surelyInside } from '../accesses/bounds.ts'
import type { Conflict } from '../dependence/dependence.ts'
import { arrayNamed } from '../slices/sliceSources.ts'
import { isPlain } from '../statements.ts'
import { type Carried, carriedOf, withBorders } from './carried.ts'
import { scanBodies } from './scanBodies.ts'
import { dtypeOf, type NoUpdates, type Updates, updatesOf } from './updates.ts'

/** Iterations of a chunk: as many as a chunk of the fixed tree has, and enough that the work between chunks does not count. */
const CHUNK = 4096

/** Most blocks that the chunks are shared out in. */
const MOST_BLOCKS = 64

/** Work limit for all questions whether accesses lie inside their arrays, in units of `Budget`. */
const BUDGET = 5_000

export interface ScanSpec {
  readonly kind: 'scan'
  readonly chunk: number
  readonly chunks: number
  readonly carries: readonly Carry[]
  readonly partial: LoopSpec
  readonly replay: LoopSpec
}

/** The reason why a loop that looks like a scan is none. */
export interface NoScan {
  readonly kind: 'none'
  readonly because: Refusal
}

/** Returns the loop as a scan, or why it is none; undefined where it does not look like one. */
export function scanOf(
  spec: LoopSpec,
  body: FunctionIr,
  accesses: readonly Access[],
  conflicts: readonly Conflict[],
): ScanSpec | NoScan | undefined {
  const { over } = spec
  const [extent] = over.extents
  if (over.kind !== 'range' || over.rank !== 1 || extent === undefined || extent === 0 || conflicts.length === 0) return undefined
  const written = new Set(accesses.filter(({ mode }) => mode !== 'read').map(({ array }) => array))
  if (!isPlain(spec, body, written) || !hasOnlyWrites(body)) return undefined
  const through = new Set(conflicts.map(({ from }) => from.array))
  const ir = withBorders(spec, body, through)
  const carried = carriedOf(spec, ir, through)
  if (carried === undefined || carried.places.length === 0) return undefined
  if (!carried.places.every((_, at) => isHeld(dtypeOf(spec, carried, at)))) return undefined
  const updates = updatesOf(spec, ir, carried)
  if ('why' in updates) return { kind: 'none', because: refusalOf(updates, carried) }
  const operatorAt = (at: number): ScanOperator => updates.operators[at] ?? { kind: 'last' }
  const isChain = (at: number): boolean => carried.places[at]?.kind === 'chain'
  // a chain that hands on its value unchanged is a copy
  if (carried.places.some((_, at) => isChain(at) && operatorAt(at).kind === 'last')) return undefined
  const fractions = carried.places.findIndex(
    (_, at) => isChain(at) && operatorAt(at).kind === 'sum' && /^f/.test(dtypeOf(spec, carried, at)),
  )
  if (fractions >= 0) return { kind: 'none', because: ofFractions(carried.places[fractions]?.name ?? '', body) }
  const filled = filledBy(spec, ir, carried, updates)
  if (filled === undefined) return undefined
  const budget = { left: BUDGET }
  const isFilled = ({ array }: Access): boolean => carried.filled.includes(array)
  if (!accesses.every((access) => isFilled(access) || surelyInside(spec, access, budget))) return undefined
  if (!carried.places.every((place) => place.kind === 'cell' || ownInside(spec, place, extent))) return undefined
  const carries = carried.places.map((place, at): Carry => {
    return {
      name: place.name,
      first: place.at.map((offset, axis) => (axis === place.axis ? offset - 1 : offset)),
      isCell: place.kind === 'cell',
      dtype: updates.dtypes[at] ?? dtypeOf(spec, carried, at),
      operator: operatorAt(at),
      partials: `partials of ${at}`,
      marks: `marks of ${at}`,
      seeds: `seeds of ${at}`,
      fills: filled[at] ?? [],
    }
  })
  const bodies = scanBodies(ir, { carried, updates, carries, chunk: CHUNK, extent })
  const chains = new Set(carried.places.flatMap(({ kind, array }) => (kind === 'chain' ? [array] : [])))
  if (readsOf(bodies.partial, spec).some((array) => written.has(array) && !chains.has(array))) return undefined
  const chunks = Math.ceil(extent / CHUNK)
  const env = { ...spec.env, ...madeArrays(carries, chunks) }
  const specOf = (body: FunctionIr): LoopSpec => ({
    ...spec,
    body: { ...spec.body, ir: body },
    over: { kind: 'range', rank: 1, extents: [chunks], label: `chunks of ${over.label}` },
    env,
    options: { ...spec.options, order: 'serial', assume: {}, partitions: Math.min(chunks, MOST_BLOCKS) },
  })
  return { kind: 'scan', chunk: CHUNK, chunks, carries, partial: specOf(bodies.partial), replay: specOf(bodies.replay) }
}

const isHeld = (dtype: string): boolean => dtype in ARRAY_OF_DTYPE && dtype !== 'i64' && dtype !== 'bool'

/** Whether an iteration leaves nothing behind but what it writes, and computes it without random numbers and elements iterated over. */
function hasOnlyWrites(ir: FunctionIr): boolean {
  let only = true
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Add' || stmt.kind === 'Accumulate' || stmt.kind === 'Throw') only = false
    if (stmt.kind === 'Return' && stmt.value !== undefined) only = false
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (one) => {
        if (one.kind === 'Draw' || one.kind === 'Input') only = false
      })
    }
  })
  return only
}

/** Whether every iteration has an element in the chain's array. */
function ownInside(spec: LoopSpec, { name, at, axis }: Carried['places'][number], extent: number): boolean {
  const binding = spec.env[name]
  const shape = binding?.kind === 'array' ? binding.shape : undefined
  return at.every((offset, one) => {
    const size = shape?.[one]
    return size !== undefined && offset >= 0 && (one === axis ? extent - 1 + offset : offset) < size
  })
}

/** Returns the arrays that each place fills as a count; undefined where one of them may be written in another way. */
function filledBy(spec: LoopSpec, ir: FunctionIr, carried: Carried, updates: Updates): readonly (readonly string[])[] | undefined {
  const names = carried.places.map((): string[] => [])
  const writes: Extract<Stmt, { kind: 'Write' }>[] = []
  visitStmts(ir.body, (stmt) => {
    const array = stmt.kind === 'Write' ? arrayNamed(spec, stmt.array) : undefined
    if (stmt.kind === 'Write' && array !== undefined && carried.filled.includes(array)) writes.push(stmt)
  })
  const placeOf = new Map<number, number>()
  for (const write of writes) {
    const fill = updates.fills.get(write)
    const array = arrayNamed(spec, write.array) ?? -1
    const binding = spec.env[write.array]
    const isKnown = binding?.kind === 'array' && binding.shape?.[0] !== undefined
    if (fill === undefined || !isKnown || (placeOf.get(array) ?? fill.place) !== fill.place) return undefined
    placeOf.set(array, fill.place)
    names[fill.place]?.push(write.array)
  }
  const counts = new Set(placeOf.values())
  for (const [stmt, { place, by }] of updates.cells) {
    if (!counts.has(place)) continue
    const dtype = dtypeOf(spec, carried, place)
    if (dtype !== 'i32' && dtype !== 'u32' && dtype !== 'f64') return undefined
    if (by !== undefined ? by < 0 : !isStart(ir, stmt)) return undefined
  }
  for (const place of counts) {
    const operator = updates.operators[place]?.kind
    if (operator !== 'sum' && operator !== 'wrap') return undefined
  }
  return names.map((one) => [...new Set(one)])
}

/** Whether a write sets a count to a whole number where the loop starts: `if (i === 0) n.set(0, 0)`. */
function isStart({ body }: FunctionIr, write: Stmt): boolean {
  const [first] = body
  if (first?.kind !== 'If' || first.else.length > 0 || !first.then.includes(write) || write.kind !== 'Write') return false
  const { test } = first
  const isZero = (expr: Expr): boolean => expr.kind === 'Literal' && expr.value === 0
  const isKey =
    test.kind === 'Binary' && (test.operator === '===' || test.operator === '==') && test.left.kind === 'Key' && isZero(test.right)
  const { value } = write
  const isCount = value.kind === 'Literal' && Number.isInteger(value.value) && Object.is(Math.max(0, value.value as number), value.value)
  return isKey && isCount && first.then.every((stmt) => stmt.kind === 'Write' && stmt.value.kind === 'Literal')
}

/** Returns the identities of the arrays that a body reads. */
function readsOf(ir: FunctionIr, spec: LoopSpec): readonly number[] {
  const arrays: number[] = []
  visitStmts(ir.body, (stmt) => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (one) => {
        const array = one.kind === 'Read' ? arrayNamed(spec, one.array) : undefined
        if (array !== undefined) arrays.push(array)
      })
    }
  })
  return arrays
}

/** Declares the arrays through which chunks report partials and marks and get seeds, under identities that no array of a session has. */
function madeArrays(carries: readonly Carry[], chunks: number): Record<string, EnvBinding> {
  const made = carries.flatMap(({ partials, marks, seeds, dtype }) => [
    { name: partials, dtype, length: chunks },
    { name: marks, dtype: 'i32' as DType, length: chunks },
    { name: seeds, dtype, length: chunks + 1 },
  ])
  return Object.fromEntries(
    made.map(({ name, dtype, length }, at) => [
      name,
      { kind: 'array', array: -1 - at, dtype, storage: 'dense', rank: 1, shape: [length], label: name } as const,
    ]),
  )
}

/** Refuses a sum in an array of doubles, whatever it holds: it may hold fractions, whose sums depend on their order. */
function ofFractions(name: string, { span }: FunctionIr): Refusal {
  return {
    code: 'scan-fraction',
    message: `${name} may hold fractions, and their sums depend on the order of the additions`,
    cure: `make ${name} an array of dtype 'i32' if it is to hold whole numbers`,
    span,
  }
}

function refusalOf({ why, span, text }: NoUpdates, { places }: Carried): Refusal {
  const names = [...new Set(places.map(({ name }) => name))].join(' and ')
  switch (why) {
    case 'fraction':
      return {
        code: 'scan-fraction',
        message: `what is added to ${names} may be a fraction, and such a sum depends on the order of its additions`,
        cure: `write ${text} | 0 if it is a whole number of 32 bits`,
        span,
      }
    case 'operator':
      return {
        code: 'scan-operator',
        message: `what an iteration makes of ${names} is no sum, Math.min or Math.max of what it is handed and something else`,
        cure: `let an iteration add to ${names}, or take Math.min or Math.max with it, and no more`,
        span,
      }
    case 'decides':
      return {
        code: 'scan-decides',
        message: `what an iteration is handed in ${names} decides on what becomes of it`,
        cure: `let something else than ${names} decide`,
        span,
      }
  }
}
