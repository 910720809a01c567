/**
 * How the accesses of an innermost counted loop are reached without checks: one check before the loop stands for those of
 * all iterations, and rows have their address once.
 */
import { type Expr, expressionsOf, type Stmt, visitExpr } from '../../core/functionIr.ts'
import type { DType } from '../../core/schema.ts'
import { type KnownAddress, LOG2_BYTES, shifted, sumOf } from './wasmCode.ts'
import { type Code, I, OP } from './wasmEncoder.ts'
import { HIGHEST, LOWEST, type WasmType } from './wasmTypes.ts'
import type { KernelWriter } from './wasmWriter.ts'

export interface LoopIndex {
  readonly slot: number
  /** What the body sees, and with the value that ends the loop. */
  readonly seen: WasmType
  readonly held: WasmType
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
  readonly base: number
  readonly known: KnownAddress
}

/** Farther subscripts are checked one by one. */
const LARGEST_OFFSET = 2 ** 20

export interface Found {
  readonly node: object
  readonly kind: Access['kind']
  readonly array: string
  readonly subscripts: readonly Expr[]
}

export function accessesOf(stmts: readonly Stmt[]): Found[] {
  const found: Found[] = []
  const visit = (stmt: Stmt): void => {
    if (stmt.kind === 'Write') found.push({ node: stmt, kind: 'write', array: stmt.array, subscripts: stmt.subscripts })
    if (stmt.kind === 'Add') found.push({ node: stmt, kind: 'add', array: stmt.array, subscripts: stmt.subscripts })
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (e) => {
        if (e.kind === 'Read') found.push({ node: e, kind: 'read', array: e.array, subscripts: e.subscripts })
      })
    }
    if (stmt.kind === 'If') [...stmt.then, ...stmt.else].forEach(visit)
    if (stmt.kind === 'Labeled') stmt.body.forEach(visit)
  }
  stmts.forEach(visit)
  return found
}

/** The same value in every iteration, without a possible failure. */
export function isSteady(expr: Expr, changed: ReadonlySet<string>): boolean {
  switch (expr.kind) {
    case 'Literal':
    case 'Key':
    case 'Parameter':
    case 'Extent':
    case 'LookupLength':
    case 'Input':
      return true
    case 'Field':
      return expr.of.kind === 'Input'
    case 'Local':
      return !changed.has(expr.name)
    case 'Unary':
      return isSteady(expr.operand, changed)
    case 'Binary':
    case 'Logical':
      return isSteady(expr.left, changed) && isSteady(expr.right, changed)
    case 'Conditional':
      return isSteady(expr.test, changed) && isSteady(expr.then, changed) && isSteady(expr.else, changed)
    case 'Call':
      return expr.args.every((arg) => isSteady(arg, changed))
    case 'MethodCall':
    case 'Read':
    case 'Has':
    case 'Lookup':
    case 'Draw':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return false
  }
}

/** `k`, `k + 3`, `k - 1`, `2 + k`: how far from the index. */
function offsetFrom(expr: Expr, local: string): number | undefined {
  if (expr.kind === 'Local') return expr.name === local ? 0 : undefined
  if (expr.kind !== 'Binary' || (expr.operator !== '+' && expr.operator !== '-')) return undefined
  const { left, right, operator } = expr
  if (left.kind === 'Local' && left.name === local && right.kind === 'Literal')
    return whole(operator === '+' ? right.value : negated(right.value))
  if (operator === '+' && right.kind === 'Local' && right.name === local && left.kind === 'Literal') return whole(left.value)
  return undefined
}

function negated(value: unknown): unknown {
  return typeof value === 'number' ? 0 - value : value
}

function whole(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= LARGEST_OFFSET ? value : undefined
}

export interface Hoisting {
  readonly index: LoopIndex
  readonly local: string
  readonly changed: ReadonlySet<string>
  readonly limit: number
  readonly step: number
  readonly setup: number[]
  readonly checks: Code[]
  readonly bases: Map<string, number>
}

/** How the loop reaches the element without checks, when a check before the loop can stand for them. */
export function accessOf(w: KernelWriter, found: Found, hoisting: Hoisting): Access | undefined {
  const { index, local, changed } = hoisting
  const { number, shape } = w.array(found.array)
  const isLane = found.kind === 'add' && shape.adds === 'lane'
  if (found.kind === 'add' && !isLane && shape.adds !== 'direct') return undefined
  const dtype = isLane ? w.target.laneTypes[number] : shape.dtype
  if (dtype === undefined || dtype === 'i64') return undefined
  let axis = -1
  let offset = 0
  const checks: Code[] = []
  const terms: Code[] = []
  const rank = found.subscripts.length
  for (const [a, subscript] of found.subscripts.entries()) {
    const extent = shape.extents[a] ?? 0
    const extentCode = w.global(`A${number}n${a}`)
    const distance = offsetFrom(subscript, local)
    if (distance !== undefined) {
      if (axis >= 0) return undefined
      axis = a
      offset = distance
      const check = indexChecks(hoisting, distance, extent, extentCode)
      if (check === undefined) return undefined
      checks.push(...check)
      if (distance !== 0) terms.push(w.scaled(number, a, I.i32Const(distance), rank))
    } else {
      if (!isSteady(subscript, changed)) return undefined
      const value = w.expr(subscript)
      if (value.type.kind !== 'i32') return undefined
      if (!(value.type.low >= 0 && value.type.high < extent)) checks.push([...value.code, ...extentCode, OP.i32LtU])
      terms.push(w.scaled(number, a, value.code, rank))
    }
  }
  const identity = w.target.identities[number] ?? number
  const baseName = `${isLane ? 'D' : 'A'}${number}`
  const shift = LOG2_BYTES[dtype]
  const address = [...w.base(baseName), ...(terms.length === 0 ? [] : [...sumOf(terms), ...shifted(shift), OP.i32Add])]
  let base = hoisting.bases.get(address.join())
  if (base === undefined) {
    base = w.declare('i32')
    hoisting.bases.set(address.join(), base)
    hoisting.setup.push(...address, ...I.localSet(base))
  }
  hoisting.checks.push(...checks)
  const steps = axis < 0 ? [] : [...w.scaled(number, axis, I.localGet(index.slot), rank), ...shifted(shift), OP.i32Add]
  const code = [...I.localGet(base), ...steps]
  const { array, node, kind } = found
  const memory = `${isLane ? 'D' : 'A'}${identity}`
  return { node, kind, array, dtype, memory, axis, isLast: axis === rank - 1, offset, base, known: { code: () => code, offset: 0 } }
}

/** Conditions under which the index plus a distance stays inside for the whole loop; undefined where 32 bits do not tell. */
function indexChecks({ index, limit, step }: Hoisting, distance: number, extent: number, extentCode: Code): readonly Code[] | undefined {
  const { seen, held } = index
  if (seen.kind !== 'i32' || held.kind !== 'i32') return undefined
  if (seen.low + distance >= 0 && seen.high + distance < extent) return []
  if (held.low + distance - 1 < LOWEST || held.high + distance + 1 > HIGHEST) return undefined
  const moved = (slot: number, by: number): Code => [...I.localGet(slot), ...I.i32Const(by), OP.i32Add]
  const low = step > 0 ? moved(index.slot, distance) : moved(limit, distance + 1)
  const high = step > 0 ? moved(limit, distance - 1) : moved(index.slot, distance)
  return [
    [...low, ...I.i32Const(0), OP.i32GeS],
    [...high, ...extentCode, OP.i32LtS],
  ]
}
