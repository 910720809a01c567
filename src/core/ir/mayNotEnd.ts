/**
 * Whether a function may run without an end: it has a loop for which no bound is proved. A bound is proved only of counted loops,
 * `for (let i = from; i < to; i += step)` with `i` and `to` left alone in the body, whose trip count is not known to be out of reach.
 *
 * Statement: a function of which this is false ends, unless a bound that only the data knows is out of reach.
 */
import { type Expr, type FunctionIr, nestedOf, type Primitive, type Stmt, type UserFunction } from './functionIr.ts'

/** A trip count that nobody waits for: at a nanosecond an iteration, some minutes. */
const OUT_OF_REACH = 2 ** 38

type For = Extract<Stmt, { kind: 'For' }>

/** Whether a row function may run without an end. For one that runs as JavaScript its text decides: it ends if it has no while and no counting for. */
export function mayNotEnd({ ir, portable }: Omit<UserFunction, 'original'>): boolean {
  if (ir !== undefined) return endlessLoop(ir) !== undefined
  return portable !== undefined && /\bwhile\s*\(|\bfor\s*\([^)]*;/.test(portable.source)
}

/** The first loop inside the function that may not end; undefined where all do. */
export function endlessLoop(ir: FunctionIr): For | undefined {
  const parameters = new Map(ir.parameters.map(({ name, value }) => [name, value]))
  return firstIn(ir.body, parameters)
}

function firstIn(stmts: readonly Stmt[], parameters: ReadonlyMap<string, Primitive>): For | undefined {
  for (const stmt of stmts) {
    const found = stmt.kind === 'For' && !ends(stmt, parameters) ? stmt : firstIn(nestedOf(stmt), parameters)
    if (found !== undefined) return found
  }
  return undefined
}

function ends({ counted, body, update }: For, parameters: ReadonlyMap<string, Primitive>): boolean {
  if (counted === undefined) return false
  const [from, to] = [known(counted.from, parameters), known(counted.to, parameters)]
  if (typeof to === 'number' && Math.abs(to - (from ?? 0)) / Math.abs(counted.step) > OUT_OF_REACH) return false
  return firstIn([...body, ...update], parameters) === undefined
}

function known(expr: Expr, parameters: ReadonlyMap<string, Primitive>): number | undefined {
  const value = expr.kind === 'Literal' ? expr.value : expr.kind === 'Parameter' ? parameters.get(expr.name) : undefined
  return typeof value === 'number' ? value : undefined
}
