/** Estimates of the mean values of a body's expressions and of the trip counts of its loops, without running it. */

import { ARRAY_OF_DTYPE } from '../arrays/storage.ts'
import type { DType } from '../data/schema.ts'
import type { Expr, FunctionIr, Stmt } from '../ir/functionIr.ts'
import { turnsBetween, UNKNOWN_TURNS } from './turns.ts'

export type For = Extract<Stmt, { kind: 'For' }>

/** The properties of an array that the cost of its accesses depends on. */
export interface CostedArray {
  /** The extents, undefined where they are not known. */
  readonly extents: readonly (number | undefined)[]
  readonly elementBytes: number
  /** Whether it holds integers of 32 bits or fewer. */
  readonly isInteger: boolean
}

export function costedType(dtype: DType): Omit<CostedArray, 'extents'> {
  return { elementBytes: ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT, isInteger: dtype !== 'f64' && dtype !== 'f32' && dtype !== 'i64' }
}

export interface Means {
  readonly parameters: ReadonlyMap<string, unknown>
  /** The extents of the iteration space. */
  readonly extents: readonly number[]
  readonly arrayOf: (name: string) => CostedArray | undefined
  /** The mean values of the indices of the loops around. */
  readonly locals: ReadonlyMap<string, number>
}

export function meansOf(ir: FunctionIr, extents: readonly number[], arrayOf: Means['arrayOf']): Means {
  return { parameters: new Map(ir.parameters.map(({ name, value }) => [name, value])), extents, arrayOf, locals: new Map() }
}

/** The mean trip count of a loop over all iterations, and the means inside of it. */
export function turnsOf(stmt: For, means: Means): { readonly turns: number; readonly inside: Means } {
  const { counted } = stmt
  if (counted === undefined) return { turns: turnsByElements(stmt, means) ?? UNKNOWN_TURNS, inside: means }
  const [from, to] = [meanOf(counted.from, means), meanOf(counted.to, means)]
  if (from === undefined || to === undefined) return { turns: turnsByElements(stmt, means) ?? UNKNOWN_TURNS, inside: means }
  const inside = { ...means, locals: new Map([...means.locals, [counted.local, (from + to) / 2]]) }
  return { turns: turnsBetween(from, to, counted.step), inside }
}

/** The mean trip count of a loop up to an element, `e < first.get(i + 1)`: all iterations together walk along an array once. Undefined for other loops. */
function turnsByElements({ test, body }: For, { extents, arrayOf }: Means): number | undefined {
  if (test?.kind !== 'Binary' || test.left.kind !== 'Local' || test.right.kind !== 'Read') return undefined
  const index = test.left.name
  const iterations = extents.reduce((product, extent) => product * extent, 1)
  let walked: number | undefined
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || walked !== undefined) return
    if (isReadAt(value, index)) walked = arrayOf(value.array)?.extents[0]
    else for (const part of Object.values(value)) visit(part)
  }
  visit(body)
  return walked === undefined || iterations === 0 ? undefined : walked / iterations
}

function isReadAt(node: object, local: string): node is Extract<Expr, { kind: 'Read' }> {
  if (!('kind' in node && node.kind === 'Read' && 'subscripts' in node && Array.isArray(node.subscripts))) return false
  const [subscript] = node.subscripts as readonly Expr[] // those of a Read
  return node.subscripts.length === 1 && subscript?.kind === 'Local' && subscript.name === local
}

/** The mean value of an expression over all iterations; undefined where only the data tells. */
export function meanOf(expr: Expr, means: Means): number | undefined {
  switch (expr.kind) {
    case 'Literal':
      return typeof expr.value === 'number' ? expr.value : undefined
    case 'Parameter': {
      const value = means.parameters.get(expr.name)
      return typeof value === 'number' ? value : undefined
    }
    case 'Extent':
      return means.arrayOf(expr.array)?.extents[expr.axis]
    case 'Key': {
      const extent = means.extents[expr.axis]
      return extent === undefined ? undefined : Math.max(0, extent - 1) / 2
    }
    case 'Local':
      return means.locals.get(expr.name)
    case 'Binary': {
      const [left, right] = [meanOf(expr.left, means), meanOf(expr.right, means)]
      return left === undefined || right === undefined ? undefined : combined(expr.operator, left, right)
    }
    case 'Call':
      return calledWithMeans(expr, means)
    default:
      return undefined
  }
}

/** The value of a bound such as `Math.min(n, i + 3)` at the means of its arguments; undefined where one has none. */
function calledWithMeans({ callee, args }: Extract<Expr, { kind: 'Call' }>, means: Means): number | undefined {
  const values = args.flatMap((arg) => meanOf(arg, means) ?? [])
  if (values.length < args.length) return undefined
  switch (callee) {
    case 'Math.min':
      return Math.min(...values)
    case 'Math.max':
      return Math.max(...values)
    case 'Math.floor':
    case 'Math.ceil':
    case 'Math.trunc':
      return values[0]
    default:
      return undefined
  }
}

function combined(operator: string, left: number, right: number): number | undefined {
  switch (operator) {
    case '+':
      return left + right
    case '-':
      return left - right
    case '*':
      return left * right
    case '/':
      return left / right
    default:
      return undefined
  }
}
