/**
 * Finds the elements in which a loop keeps what each iteration hands on to the next.
 *
 *     cell      n.set(0, n.get(0) + 1)                   one element, which all iterations read and write
 *     chain     out.set(i, out.get(i - 1) + x.get(i))    each iteration has an element, and reads that of the one before
 *     filled    out.set(n.get(0), x.get(i))              written only, where a cell says
 */
import { type Expr, expressionsOf, type FunctionIr, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { rewriteStmts, UNCHANGED } from '../../../core/ir/irRewrite.ts'
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'

/** A value that iterations hand on, with the array that holds it. */
export interface Place {
  readonly kind: 'cell' | 'chain'
  readonly array: number
  readonly name: string
  /** The element that iterations write; of a chain, the one that iteration 0 writes. */
  readonly at: readonly number[]
  /** The axis along which a chain goes; -1 for a cell. */
  readonly axis: number
}

/** The relation of an access to the place: the element itself, or the one before it. */
export interface Role {
  readonly place: number
  readonly isBefore: boolean
}

export interface Carried {
  readonly places: readonly Place[]
  /** Arrays that are only written, at elements that do not follow from the iteration alone. */
  readonly filled: readonly number[]
  roleOf(access: { readonly array: string; readonly subscripts: readonly Expr[] }): Role | undefined
  /** Values of the locals that are declared once and never assigned. */
  readonly definitions: ReadonlyMap<string, Expr>
}

/** A subscript `key * index + offset`. */
interface Offset {
  readonly key: 0 | 1
  readonly offset: number
}

/**
 * Returns the body with the first elements of chains subscripted by the loop index: `if (i === 0) out.set(0, x)` as `if (i === 0)
 * out.set(i, x)`.
 */
export function withBorders(spec: LoopSpec, ir: FunctionIr, arrays: ReadonlySet<number>): FunctionIr {
  const offsetOf = offsetsBy(ir, definitionsOf(ir))
  const chains = new Set<number>()
  const uses = usesOf(ir, (name) => arrayIn(spec, name, arrays))
  for (const [array, own] of uses) if (own.some(({ subscripts }) => subscripts.some((one) => offsetOf(one)?.key === 1))) chains.add(array)
  if (chains.size === 0) return ir
  const isChain = (name: string): boolean => arrayIn(spec, name, chains) !== undefined
  const atKey = (expr: Expr, index: number): Expr => {
    if (expr.kind !== 'Literal' || typeof expr.value !== 'number' || !Number.isInteger(expr.value)) return expr
    const { span } = expr
    const key: Expr = { kind: 'Key', axis: 0, span }
    if (expr.value === index) return key
    return { kind: 'Binary', operator: '+', left: key, right: { kind: 'Literal', value: expr.value - index, span }, span }
  }
  const under = (stmts: readonly Stmt[], index: number): readonly Stmt[] =>
    rewriteStmts(stmts, {
      ...UNCHANGED,
      expr: (expr) =>
        expr.kind === 'Read' && isChain(expr.array) ? { ...expr, subscripts: expr.subscripts.map((one) => atKey(one, index)) } : expr,
    }).map((stmt): Stmt => {
      if (stmt.kind === 'Write' && isChain(stmt.array)) return { ...stmt, subscripts: stmt.subscripts.map((one) => atKey(one, index)) }
      // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
      return stmt.kind === 'If' ? { ...stmt, then: under(stmt.then, index), else: under(stmt.else, index) } : stmt
    })
  const body = ir.body.map((stmt): Stmt => {
    const { kind } = stmt
    const test = kind === 'If' ? stmt.test : undefined
    const isBorder = test?.kind === 'Binary' && (test.operator === '===' || test.operator === '==') && test.left.kind === 'Key'
    const index = isBorder && test.right.kind === 'Literal' && Number.isInteger(test.right.value) ? (test.right.value as number) : undefined
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    return kind === 'If' && index !== undefined ? { ...stmt, then: under(stmt.then, index) } : stmt
  })
  return { ...ir, body }
}

function arrayIn(spec: LoopSpec, name: string, arrays: ReadonlySet<number>): number | undefined {
  const binding = spec.env[name]
  return binding?.kind === 'array' && arrays.has(binding.array) ? binding.array : undefined
}

/** Returns the values that iterations of a one-axis loop hand on through these arrays; undefined where they use one in another way. */
export function carriedOf(spec: LoopSpec, ir: FunctionIr, arrays: ReadonlySet<number>): Carried | undefined {
  const definitions = definitionsOf(ir)
  const offsetOf = offsetsBy(ir, definitions)
  const arrayOf = (name: string): number | undefined => arrayIn(spec, name, arrays)
  const uses = usesOf(ir, arrayOf)
  const places: Place[] = []
  const filled: number[] = []
  const index = new Map<string, number>()
  for (const array of arrays) {
    const own = uses.get(array)
    if (own === undefined || own.some(({ mode }) => mode === 'other')) return undefined
    const offsets = own.map(({ subscripts }) => subscripts.map(offsetOf))
    if (offsets.some((one) => one.includes(undefined))) {
      if (own.some(({ mode }) => mode !== 'write')) return undefined
      filled.push(array)
      continue
    }
    const found = placesOf(array, own, offsets as readonly (readonly Offset[])[]) // all of them are known
    if (found === undefined) return undefined
    for (const place of found) index.set(idOf(place.array, place.at), places.push(place) - 1)
  }
  return {
    places,
    filled,
    definitions,
    roleOf: ({ array: name, subscripts }) => {
      const array = arrayOf(name)
      const offsets = array === undefined ? [] : subscripts.map(offsetOf)
      if (array === undefined || filled.includes(array) || offsets.includes(undefined)) return undefined
      const at = offsets.map((one) => one?.offset ?? 0)
      const own = index.get(idOf(array, at))
      if (own !== undefined) return { place: own, isBefore: false }
      const axis = offsets.findIndex((one) => one?.key === 1)
      const after = index.get(
        idOf(
          array,
          at.map((offset, i) => (i === axis ? offset + 1 : offset)),
        ),
      )
      return after === undefined ? undefined : { place: after, isBefore: true }
    },
  }
}

const idOf = (array: number, at: readonly number[]): string => `${array} ${at.join()}`

interface Use {
  readonly name: string
  readonly mode: 'read' | 'write' | 'other'
  readonly subscripts: readonly Expr[]
}

function usesOf(ir: FunctionIr, arrayOf: (name: string) => number | undefined): ReadonlyMap<number, readonly Use[]> {
  const uses = new Map<number, Use[]>()
  const add = (mode: Use['mode'], { array: name, subscripts }: { readonly array: string; readonly subscripts: readonly Expr[] }): void => {
    const array = arrayOf(name)
    if (array !== undefined) uses.set(array, [...(uses.get(array) ?? []), { name, mode, subscripts }])
  }
  visitStmts(ir.body, (stmt) => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (one) => {
        if (one.kind === 'Read') add('read', one)
        if (one.kind === 'Has') add('other', one)
      })
    }
    if (stmt.kind === 'Write') add('write', stmt)
    if (stmt.kind === 'Add') add('other', stmt)
  })
  return uses
}

/** Returns the elements of one array that hand something on; undefined where its accesses fit neither cells nor a chain. */
function placesOf(array: number, uses: readonly Use[], offsets: readonly (readonly Offset[])[]): readonly Place[] | undefined {
  const name = uses[0]?.name ?? ''
  const axis = offsets[0]?.findIndex(({ key }) => key === 1) ?? -1
  if (offsets.some((one) => one.some(({ key }, at) => key !== (at === axis ? 1 : 0)))) return undefined
  if (axis < 0) {
    const cells = new Map(offsets.map((one) => [one.map(({ offset }) => offset).join(), one.map(({ offset }) => offset)]))
    return [...cells.values()].map((at): Place => ({ kind: 'cell', array, name, at, axis }))
  }
  const written = offsets.filter((_, i) => uses[i]?.mode === 'write')
  const at = written[0]?.map(({ offset }) => offset)
  if (at === undefined) return undefined
  const isAt = (one: readonly Offset[], back: number): boolean =>
    one.every(({ offset }, i) => offset === (at[i] ?? 0) - (i === axis ? back : 0))
  if (!written.every((one) => isAt(one, 0)) || !offsets.every((one) => isAt(one, 0) || isAt(one, 1))) return undefined
  return [{ kind: 'chain', array, name, at, axis }]
}

/** Returns the values of locals that are declared once and never assigned. */
function definitionsOf(ir: FunctionIr): ReadonlyMap<string, Expr> {
  const definitions = new Map<string, Expr>()
  const changing = new Set<string>()
  visitStmts(ir.body, (stmt: Stmt) => {
    if (stmt.kind === 'Assign' || (stmt.kind === 'Let' && definitions.has(stmt.local))) changing.add(stmt.local)
    if (stmt.kind === 'Let' && stmt.init !== undefined) definitions.set(stmt.local, stmt.init)
  })
  for (const local of changing) definitions.delete(local)
  return definitions
}

function offsetsBy(ir: FunctionIr, definitions: ReadonlyMap<string, Expr>): (expr: Expr) => Offset | undefined {
  const parameters = new Map(ir.parameters.map(({ name, value }) => [name, value]))
  const constant = (value: unknown): Offset | undefined => (Number.isSafeInteger(value) ? { key: 0, offset: value as number } : undefined)
  const offsetOf = (expr: Expr): Offset | undefined => {
    switch (expr.kind) {
      case 'Literal':
        return constant(expr.value)
      case 'Parameter':
        return constant(parameters.get(expr.name))
      case 'Key':
        return { key: 1, offset: 0 }
      case 'Local': {
        const value = definitions.get(expr.name)
        return value === undefined ? undefined : offsetOf(value)
      }
      case 'Binary': {
        const [left, right] = [offsetOf(expr.left), offsetOf(expr.right)]
        if (left === undefined || right === undefined) return undefined
        if (expr.operator === '-' && right.key === 0) return { key: left.key, offset: left.offset - right.offset }
        if (expr.operator === '+' && left.key + right.key < 2)
          return { key: left.key === 1 || right.key === 1 ? 1 : 0, offset: left.offset + right.offset }
        return undefined
      }
      default:
        return undefined
    }
  }
  return offsetOf
}
