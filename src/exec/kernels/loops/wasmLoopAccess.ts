/**
 * Accesses of an innermost counted loop without checks in it: one check before the loop stands for those of
 * all iterations, and the address of a row is computed once.
 */

import type { DType } from '../../../core/data/schema.ts'
import { type Expr, expressionsOf, nestedOf, type Stmt, visitExpr } from '../../../core/ir/functionIr.ts'
import { type Code, codeId, type GrowingCode, I, OP } from '../../kir/instructions.ts'
import { HIGHEST, type WasmType } from '../expressions/types.ts'
import { type KnownAddress, LOG2_BYTES, shifted, sumOf } from './wasmCode.ts'
import type { KernelWriter } from './wasmWriter.ts'

export interface LoopIndex {
  readonly slot: number
  /** The range of the index in the body, and with the value that ends the loop. */
  readonly seen: WasmType
  readonly held: WasmType
  readonly is: (expr: Expr) => boolean
}

/** The values that vary between the iterations of a loop. */
export interface Turning {
  readonly index: LoopIndex
  /** Locals that the loop declares or assigns. */
  readonly changed: ReadonlySet<string>
  /** Whether it is the loop over iterations, so that the element varies as well. */
  readonly isRun: boolean
}

export interface Access {
  readonly node: object
  readonly kind: 'read' | 'write' | 'add'
  readonly array: string
  readonly dtype: DType
  /** The name of the memory that is accessed: arrays that share it have the same. */
  readonly memory: string
  /** The axis whose subscript contains the index; -1 where none does, so that the element is always the same. */
  readonly axis: number
  readonly isLast: boolean
  /** The constant in that axis' subscript, which is the index plus it. */
  readonly offset: number
  /** The name of the row: accesses to the same row have the same. */
  readonly row: string
  readonly known: KnownAddress
  /** The address for a constant value of the index. */
  readonly at: (index: number) => KnownAddress
  /** The local with the bytes between elements of consecutive iterations; undefined where the index runs along the last axis. */
  readonly stride: number | undefined
  readonly subscripts: readonly Expr[]
}

/** The largest constant in a subscript of the index; accesses with greater ones are checked one by one. */
const LARGEST_OFFSET = 2 ** 20

export interface Found {
  readonly node: object
  readonly kind: Access['kind']
  readonly array: string
  readonly subscripts: readonly Expr[]
}

/** Returns the accesses of statements outside of inner loops, in the order in which an iteration makes them. */
export function accessesOf(stmts: readonly Stmt[]): Found[] {
  const found: Found[] = []
  const visit = (stmt: Stmt): void => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (e) => {
        if (e.kind === 'Read') found.push({ node: e, kind: 'read', array: e.array, subscripts: e.subscripts })
      })
    }
    if (stmt.kind === 'Write') found.push({ node: stmt, kind: 'write', array: stmt.array, subscripts: stmt.subscripts })
    if (stmt.kind === 'Add') found.push({ node: stmt, kind: 'add', array: stmt.array, subscripts: stmt.subscripts })
    if (stmt.kind === 'If') [...stmt.then, ...stmt.else].forEach(visit)
    if (stmt.kind === 'Labeled') stmt.body.forEach(visit)
  }
  stmts.forEach(visit)
  return found
}

/** Returns the accesses of statements, those in inner loops included. */
export function deepAccesses(stmts: readonly Stmt[]): Found[] {
  const found: Found[] = []
  const visit = (stmt: Stmt): void => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (e) => {
        if (e.kind === 'Read') found.push(accessOf(e))
      })
    }
    if (stmt.kind === 'Write' || stmt.kind === 'Add') found.push(accessOf(stmt))
    nestedOf(stmt).forEach(visit)
  }
  stmts.forEach(visit)
  return found
}

/** Describes the access that an expression or statement makes. */
export function accessOf(node: object): Found {
  const found = node as Extract<Expr, { kind: 'Read' }> | Extract<Stmt, { kind: 'Write' | 'Add' }> // nodes that make accesses
  const kind = found.kind === 'Read' ? 'read' : found.kind === 'Write' ? 'write' : 'add'
  return { node, kind, array: found.array, subscripts: found.subscripts }
}

/** The name of the memory that is accessed: arrays that share it have the same. */
export function memoryOf(w: KernelWriter, { kind, array }: Pick<Found, 'kind' | 'array'>): string {
  const { number, shape } = w.array(array)
  const isLane = kind === 'add' && shape.adds === 'lane'
  return `${isLane ? 'D' : 'A'}${w.target.identities[number] ?? number}`
}

/** The name of the memory of the dense array iterated over. */
export function elementMemory(w: KernelWriter): string {
  const { elementIdentity } = w.target
  return elementIdentity === undefined ? 'X' : `A${elementIdentity}`
}

/** Whether an expression is loop-invariant and cannot fail. */
export function isSteady(expr: Expr, turning: Turning): boolean {
  if (turning.index.is(expr)) return false
  switch (expr.kind) {
    case 'Literal':
    case 'Key':
    case 'Parameter':
    case 'Extent':
    case 'LookupLength':
      return true
    case 'Input':
      return !turning.isRun
    case 'Field':
      return !turning.isRun && expr.of.kind === 'Input'
    case 'Local':
      return !turning.changed.has(expr.name)
    case 'Unary':
      return isSteady(expr.operand, turning)
    case 'Binary':
    case 'Logical':
      return isSteady(expr.left, turning) && isSteady(expr.right, turning)
    case 'Conditional':
      return isSteady(expr.test, turning) && isSteady(expr.then, turning) && isSteady(expr.else, turning)
    case 'Call':
      return expr.args.every((arg) => isSteady(arg, turning))
    case 'Lookup':
      return isSteady(expr.index, turning)
    case 'Find':
    case 'MethodCall':
    case 'OfList':
    case 'Matches':
    case 'Read':
    case 'Has':
    case 'Draw':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return false
  }
}

/** Returns the distance from the index of `k`, `k + 3`, `k - 1`, `2 + k`, `(k + 1) - 1`; undefined for other expressions. */
export function offsetFrom(expr: Expr, index: LoopIndex): number | undefined {
  if (index.is(expr)) return 0
  if (expr.kind !== 'Binary' || (expr.operator !== '+' && expr.operator !== '-')) return undefined
  const { left, right, operator } = expr
  if (right.kind === 'Literal') return farther(offsetFrom(left, index), operator === '+' ? right.value : negated(right.value))
  return operator === '+' && left.kind === 'Literal' ? farther(offsetFrom(right, index), left.value) : undefined
}

function farther(offset: number | undefined, by: unknown): number | undefined {
  return offset === undefined || typeof by !== 'number' ? undefined : whole(offset + by)
}

function negated(value: unknown): unknown {
  return typeof value === 'number' ? 0 - value : value
}

function whole(value: number): number | undefined {
  return Number.isInteger(value) && Math.abs(value) <= LARGEST_OFFSET ? value : undefined
}

/** An access whose bounds can be checked before the loop, with the start of its row. */
interface Placed {
  readonly found: Found
  readonly dtype: DType
  readonly axis: number
  readonly isLast: boolean
  readonly offset: number
  readonly number: number
  /** The address where the index is 0, without the offset along the last axis. */
  readonly row: Code
}

export interface Hoisted {
  readonly accesses: ReadonlyMap<object, Access>
  /** Code before the loop, which sets the addresses of rows. */
  readonly setup: Code
  /** Conditions under which all accesses are in bounds. */
  readonly checks: readonly Code[]
}

/** Hoists the bounds checks of accesses; those for which checks before the loop cannot stand are left out of the result. */
export function hoistedAccesses(w: KernelWriter, found: readonly Found[], turning: Turning, range: LoopRange): Hoisted {
  const checks: Code[] = []
  const placed = found.flatMap((one) => placeOf(w, one, turning, range, checks) ?? [])
  const rows = groupedByRow(placed)
  const setup: GrowingCode = []
  const accesses = new Map<object, Access>()
  for (const [row, members] of rows) {
    const [first] = members
    if (first === undefined) continue
    const shift = LOG2_BYTES[first.dtype]
    const least = Math.min(...members.map(({ offset, isLast }) => (isLast ? offset : 0)))
    const base = w.declare('i32')
    setup.push(...first.row, ...(least === 0 ? [] : [...I.i32Const(least << shift), OP.i32Add]), ...I.localSet(base))
    let step: Code = shifted(shift)
    let stride: number | undefined
    if (!first.isLast && first.axis >= 0) {
      stride = w.declare('i32')
      setup.push(...w.scaled(first.number, first.axis, I.i32Const(1), rankOf(first)), ...shifted(shift), ...I.localSet(stride))
      step = [...I.localGet(stride), OP.i32Mul]
    }
    const code = [...I.localGet(base), ...(first.axis < 0 ? [] : [...I.localGet(turning.index.slot), ...step, OP.i32Add])]
    for (const { found: one, dtype, axis, isLast, offset } of members) {
      const known = { code: () => code, offset: isLast ? (offset - least) << shift : 0 }
      const at = (value: number): KnownAddress => {
        const bytes = isLast ? value << shift : 0
        // where the row starts before its array, the sum of address and offset would not wrap around
        if (axis < 0 || (isLast && least >= 0 && value >= 0))
          return { code: () => I.localGet(base), offset: known.offset + (axis < 0 ? 0 : bytes) }
        const step = stride === undefined ? I.i32Const(bytes) : [...I.localGet(stride), ...I.i32Const(value), OP.i32Mul]
        return { code: () => [...I.localGet(base), ...step, OP.i32Add], offset: known.offset }
      }
      const { node, kind, array } = one
      accesses.set(node, {
        node,
        kind,
        array,
        dtype,
        memory: memoryOf(w, one),
        axis,
        isLast,
        offset,
        row,
        known,
        at,
        stride,
        subscripts: one.subscripts,
      })
    }
  }
  return { accesses, setup, checks: [...new Map(checks.map((check) => [codeId(check), check])).values()] }
}

function groupedByRow(placed: readonly Placed[]): ReadonlyMap<string, readonly Placed[]> {
  const rows = new Map<string, Placed[]>()
  for (const one of placed) {
    const row = `${one.axis} ${one.isLast ? '' : one.offset} ${one.dtype} ${codeId(one.row)}`
    rows.set(row, [...(rows.get(row) ?? []), one])
  }
  return rows
}

const rankOf = ({ found }: Placed): number => found.subscripts.length

/** The local with the end of the loop's range, and the step. */
export interface LoopRange {
  readonly limit: number
  readonly step: number
}

function placeOf(w: KernelWriter, found: Found, turning: Turning, range: LoopRange, allChecks: Code[]): Placed | undefined {
  const { number, shape } = w.array(found.array)
  const isLane = found.kind === 'add' && shape.adds === 'lane'
  if (found.kind === 'add' && !isLane && shape.adds !== 'direct') return undefined
  const dtype = isLane ? w.target.laneTypes[number] : shape.dtype
  if (dtype === undefined) return undefined
  let axis = -1
  let offset = 0
  const checks: Code[] = []
  const terms: Code[] = []
  const rank = found.subscripts.length
  for (const [a, subscript] of found.subscripts.entries()) {
    const extent = shape.extents[a] ?? 0
    const extentCode = w.global(`A${number}n${a}`)
    const distance = offsetFrom(subscript, turning.index)
    if (distance !== undefined) {
      if (axis >= 0) return undefined
      axis = a
      offset = distance
      const check = indexChecks(turning.index, range, distance, extent, extentCode)
      if (check === undefined) return undefined
      checks.push(...check)
      if (distance !== 0 && a !== rank - 1) terms.push(w.scaled(number, a, I.i32Const(distance), rank))
    } else {
      if (!isSteady(subscript, turning)) return undefined
      const value = w.expr(subscript)
      if (value.type.kind !== 'i32') return undefined
      const isInside = value.type.low >= 0 && value.type.high < extent
      if (!isInside) checks.push([...value.code, ...extentCode, OP.i32LtU])
      terms.push(w.scaled(number, a, isInside ? value.code : asNumber(value.code), rank))
    }
  }
  allChecks.push(...checks)
  const start = w.base(`${isLane ? 'D' : 'A'}${number}`)
  const row = [...start, ...(terms.length === 0 ? [] : [...sumOf(terms), ...shifted(LOG2_BYTES[dtype]), OP.i32Add])]
  return { found, dtype, axis, isLast: axis === rank - 1, offset, number, row }
}

/** Marks an offset that may have wrapped around as a plain number (`| 0`), since `wideAddresses.ts` computes addresses without wrapping. */
function asNumber(code: Code): Code {
  return [code, I.i32Const(0), OP.i32Or]
}

/**
 * Returns conditions under which the index plus a distance stays in bounds for the whole loop. None of them overflows 32 bits, whatever
 * the index, as the extent is a known constant. Undefined where it is too large for that.
 */
export function indexChecks(
  { slot, seen }: LoopIndex,
  { limit, step }: LoopRange,
  distance: number,
  extent: number,
  extentCode: Code,
): readonly Code[] | undefined {
  if (seen.kind !== 'i32') return undefined
  if (seen.low + distance >= 0 && seen.high + distance < extent) return []
  if (extent - distance > HIGHEST) return undefined
  const end = [...extentCode, ...I.i32Const(distance), OP.i32Sub]
  const [low, high] = step > 0 ? [slot, limit] : [limit, slot]
  return [
    [...I.localGet(low), ...I.i32Const(step > 0 ? -distance : -1 - distance), OP.i32GeS],
    [...I.localGet(high), ...end, step > 0 ? OP.i32LeS : OP.i32LtS],
  ]
}
