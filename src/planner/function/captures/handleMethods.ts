/** Lowers methods of what `env` holds: arrays, their rows, buffers, accumulators and generators of random numbers. */
import type { CallExpression } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { elements } from '../lists/elements.ts'
import { elementRead } from '../lists/madeArrays.ts'
import { literal } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { rowOfTable } from '../lower/tableRows.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'

/** Returns arguments as scalars; undefined where one is refused. */
export function argumentExprs(l: Lowering, args: readonly Value[], node: CallExpression): Expr[] | undefined {
  const exprs = args.map((value, i) => l.scalarOrNothing(value, node.arguments[i] ?? node))
  return exprs.includes(undefined) ? undefined : (exprs as Expr[]) // none is undefined
}

/** Evaluates arguments in order, after expressions that are kept from before; undefined where an argument is refused. */
export function inOrderAfter(
  l: Lowering,
  before: readonly Expr[],
  node: CallExpression,
): { readonly before: readonly Expr[]; readonly args: Expr[] } | undefined {
  const at = l.out.length
  const values = elements(l, node.arguments)
  if (values === undefined) return undefined
  let kept = before
  if (l.out.length > at) {
    const emitted = l.out.splice(at)
    kept = before.map((expr) => l.stabilized(expr))
    l.out.push(...emitted)
  }
  const args = argumentExprs(l, values, node)
  return args === undefined ? undefined : { before: kept, args }
}

/** Lowers a method of an array, a buffer, an accumulator or a generator. */
export function handleMethod(l: Lowering, object: Value & { kind: 'handle' }, name: string, node: CallExpression): Value {
  const span = l.span(node)
  const { name: array, of } = object
  const nothing = exprValue(literal(undefined, span))
  const parts = inOrderAfter(l, [], node)
  if (parts === undefined) return REFUSED
  const { args } = parts
  const last = args.at(-1)
  const wrong = (): Value => l.refuse('method-arity', node, `${array}.${name}`)
  if (of === 'accumulator') {
    if (name !== 'add') return l.refuse('unknown-method', node, `${array}.${name}`)
    if (args.length > 1) return wrong()
    l.emit({ kind: 'Accumulate', accumulator: array, value: last ?? literal(undefined, span), span })
    return nothing
  }
  if (of === 'rng') {
    if (name !== 'uniform' && name !== 'normal' && name !== 'int') return l.refuse('unknown-method', node, `${array}.${name}`)
    if (args.length !== (name === 'int' ? 1 : 0)) return wrong()
    return exprValue({ kind: 'Draw', rng: array, method: name, args, span })
  }
  const isArray = of === 'array'
  const rank = l.ranks.get(array)
  const taken = rank === undefined ? undefined : argumentCount(name, rank)
  if (taken !== undefined && args.length !== taken) return l.refuse('key-count', node, array)
  if (name === 'get') {
    if (args.length === 0) return wrong()
    const row = isArray ? rowOfTable(l, array, args) : undefined
    if (row !== undefined) return row
    return exprValue(elementRead(l, array, args, span))
  }
  if (name === 'has' && isArray) return args.length === 0 ? wrong() : exprValue({ kind: 'Has', array, subscripts: args, span })
  if (name === 'row') return { kind: 'view', array, prefix: args.map((arg) => l.stabilized(arg, 'row')) }
  if ((name === 'set' && isArray) || name === 'add') {
    if (args.length < 2 || last === undefined) return wrong()
    l.emit({ kind: name === 'add' ? 'Add' : 'Write', array, subscripts: args.slice(0, -1), value: last, span })
    return nothing
  }
  return l.refuse('unknown-method', node, `${array}.${name}`)
}

/** Returns the number of arguments that a method of an array takes; undefined for others. */
function argumentCount(name: string, rank: number): number | undefined {
  if (name === 'get' || name === 'has') return rank
  if (name === 'set' || name === 'add') return rank + 1
  return name === 'row' ? rank - 1 : undefined
}

/** Lowers a method of a row. */
export function viewMethod(l: Lowering, view: Value & { kind: 'view' }, name: string, node: CallExpression): Value {
  const span = l.span(node)
  const { array } = view
  const parts = inOrderAfter(l, [], node)
  if (parts === undefined) return REFUSED
  const [index, value] = parts.args
  const wrong = (): Value => l.refuse('method-arity', node, `${array}.row(…).${name}`)
  if (name === 'get') {
    if (index === undefined || parts.args.length !== 1) return wrong()
    return exprValue(elementRead(l, array, [...view.prefix, index], span))
  }
  if (name === 'set' || name === 'add') {
    if (index === undefined || value === undefined || parts.args.length !== 2) return wrong()
    if (name === 'set' && isBuffer(l, array)) return l.refuse('unknown-method', node, `${array}.row(…).set`)
    l.emit({ kind: name === 'add' ? 'Add' : 'Write', array, subscripts: [...view.prefix, index], value, span })
    return exprValue(literal(undefined, span))
  }
  return l.refuse('unknown-method', node, `${array}.row(…).${name}`)
}

/** Whether a name stands for a buffer of updates. */
export function isBuffer(l: Lowering, name: string): boolean {
  return l.uses.some((use) => use.name === name && use.kind === 'buffer')
}
