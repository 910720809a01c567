/**
 * How the accesses of an innermost counted loop are reached without checks: one check before the loop stands for those of
 * all iterations, and rows have their address once.
 */

import type { DType } from '../../../core/data/schema.ts'
import { type Expr, expressionsOf, nestedOf, type Stmt, visitExpr } from '../../../core/ir/functionIr.ts'
import { type Code, codeId, type GrowingCode, I, OP } from '../../kir/instructions.ts'
import { HIGHEST, type WasmType } from '../expressions/types.ts'
import { type KnownAddress, LOG2_BYTES, shifted, sumOf } from './wasmCode.ts'
import type { KernelWriter } from './wasmWriter.ts'

export interface LoopIndex {
  readonly slot: number
  /** What the body sees, and with the value that ends the loop. */
  readonly seen: WasmType
  readonly held: WasmType
  readonly is: (expr: Expr) => boolean
}

/** What differs between the turns of a loop. */
export interface Turning {
  readonly index: LoopIndex
  /** Locals that the loop declares or assigns. */
  readonly changed: ReadonlySet<string>
  /** Whether a turn is an iteration, with an element of its own. */
  readonly isRun: boolean
}

export interface Access {
  readonly node: object
  readonly kind: 'read' | 'write' | 'add'
  readonly array: string
  readonly dtype: DType
  /** What memory it touches: arrays that share it have one name. */
  readonly memory: string
  /** The axis that the index runs along; -1: always the same element. */
  readonly axis: number
  readonly isLast: boolean
  /** The subscript of that axis is the index plus this. */
  readonly offset: number
  /** Accesses of one row have one name. */
  readonly row: string
  readonly known: KnownAddress
  /** The address at a value of the index. */
  readonly at: (index: number) => KnownAddress
  /** The local that holds the bytes from one turn's element to the next, where the index runs along another axis than the last. */
  readonly stride: number | undefined
  readonly subscripts: readonly Expr[]
}

/** Farther subscripts are checked one by one. */
const LARGEST_OFFSET = 2 ** 20

export interface Found {
  readonly node: object
  readonly kind: Access['kind']
  readonly array: string
  readonly subscripts: readonly Expr[]
}

/** In the order in which a turn makes them. */
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

/** Those in loops as well. */
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

/** What an expression or statement that reaches an element does. */
export function accessOf(node: object): Found {
  const found = node as Extract<Expr, { kind: 'Read' }> | Extract<Stmt, { kind: 'Write' | 'Add' }> // nodes that make accesses
  const kind = found.kind === 'Read' ? 'read' : found.kind === 'Write' ? 'write' : 'add'
  return { node, kind, array: found.array, subscripts: found.subscripts }
}

/** What memory an access touches: arrays that share it have one name. */
export function memoryOf(w: KernelWriter, { kind, array }: Pick<Found, 'kind' | 'array'>): string {
  const { number, shape } = w.array(array)
  const isLane = kind === 'add' && shape.adds === 'lane'
  return `${isLane ? 'D' : 'A'}${w.target.identities[number] ?? number}`
}

/** The memory of the dense array iterated over. */
export function elementMemory(w: KernelWriter): string {
  const { elementIdentity } = w.target
  return elementIdentity === undefined ? 'X' : `A${elementIdentity}`
}

/** The same value in every turn, without a possible failure. */
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
    case 'Matches':
    case 'Read':
    case 'Has':
    case 'Draw':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return false
  }
}

/** `k`, `k + 3`, `k - 1`, `2 + k`, `(k + 1) - 1`: how far from the index. */
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

/** An access whose bounds a check before the loop can tell, and the start of its row. */
interface Placed {
  readonly found: Found
  readonly dtype: DType
  readonly axis: number
  readonly isLast: boolean
  readonly offset: number
  readonly number: number
  /** The address where the index is 0, but for the offset along the last axis. */
  readonly row: Code
}

export interface Hoisted {
  readonly accesses: ReadonlyMap<object, Access>
  /** Code before the loop. */
  readonly setup: Code
  /** Conditions under which no access leaves its array. */
  readonly checks: readonly Code[]
}

/** How the loop reaches its elements without checks, for the accesses where checks before the loop can stand for them. */
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
        // Where the row starts before its array, an address and an offset would not wrap around.
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

/** The local that holds where the loop ends, and how far a turn goes. */
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

/** 32 bits that may have wrapped around are, as `| 0`, no part of the address they go into: those are exact (see `wideAddresses.ts`). */
function asNumber(code: Code): Code {
  return [code, I.i32Const(0), OP.i32Or]
}

/**
 * Conditions under which the index plus a distance stays inside for the whole loop. None of them leaves 32 bits, whatever
 * the index: the extent is known here. Undefined where it is too large.
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
