/** Subscripts in words: `u`, `i - 1`, `0:K`, `:` for a whole axis, `? cols.get(k)` for what only the data can tell. */
import { type Expr, expressionsOf, type FunctionIr, visitExpr, visitStmts } from '../../core/functionIr.ts'
import type { Key } from '../../core/indexSpace.ts'
import type { LoopSpec } from '../../core/loopSpec.ts'
import { type Access, extentForm, type Subscript } from './accesses.ts'
import { type Form, sameForm, sameVariable, type Variable } from './affine.ts'

/** How variables are written. */
export type Naming = (variable: Variable) => string | number

const AXIS_NAMES = ['i', 'j', 'k', 'l', 'm', 'n']

/** The names that the body gives to the axes of the key, or i, j, k where it gives none. */
export function axisNames(rank: number, ir: FunctionIr | undefined): string[] {
  const names = Array.from({ length: rank }, (_, axis) => AXIS_NAMES[axis] ?? `i${axis}`)
  const note = (expr: Expr) => {
    if (expr.kind === 'Key' && /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(expr.span.text)) found.set(expr.axis, expr.span.text)
  }
  const found = new Map<number, string>()
  visitStmts(ir?.body ?? [], (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, note)
  })
  const named = names.map((name, axis) => found.get(axis) ?? name)
  return new Set(named).size === rank ? named : names
}

/** Writes loop indices by their names. */
export function symbolically(names: readonly string[]): Naming {
  return (variable) => {
    switch (variable.kind) {
      case 'key':
        return names[variable.axis] ?? `i${variable.axis}`
      case 'inner':
      case 'extent':
        return variable.name
      case 'distinct':
        return `? ${variable.array}`
    }
  }
}

/** Writes loop indices by their values in one iteration. */
export function atIteration(key: Key, names: readonly string[]): Naming {
  return (variable) => (variable.kind === 'key' ? (key[variable.axis] ?? 0) : symbolically(names)(variable))
}

/** `W[u, :]` */
export function elementText(spec: LoopSpec, access: Access, naming: Naming): string {
  return `${access.name}[${subscriptTexts(spec, access, naming).join(', ')}]`
}

/** One text per axis of the accessed array. */
export function subscriptTexts(spec: LoopSpec, access: Access, naming: Naming): string[] {
  return access.subscripts.map((subscript, axis) => subscriptText(spec, access, subscript, axis, naming))
}

function subscriptText(spec: LoopSpec, access: Access, subscript: Subscript, axis: number, naming: Naming): string {
  if (subscript.kind === 'unknown') return `? ${subscript.text}`
  const { variable, offset } = subscript.form
  if (variable?.kind !== 'inner') return formText(subscript.form, naming)
  const { least, above } = rangeOf(access, variable)
  const extent = extentForm(spec.env[access.name], axis)
  const from = least && plus(least, offset)
  const to = above && plus(above, offset)
  const startsWhole = from !== undefined && from.variable === undefined && from.offset <= 0
  const endsWhole =
    to !== undefined &&
    (sameForm(to, extent) || (to.variable === undefined && extent?.variable === undefined && to.offset >= (extent?.offset ?? Infinity)))
  if (startsWhole && endsWhole) return ':'
  return `${from === undefined ? '' : formText(from, naming)}:${to === undefined ? '' : formText(to, naming)}`
}

/** The range of an inner loop index, from the first constraints on it, which are those of its loop. */
function rangeOf(access: Access, variable: Variable): { readonly least: Form | undefined; readonly above: Form | undefined } {
  const lower = access.constraints.find(({ left, right }) => sameVariable(right, variable) && !sameVariable(left, variable))
  const upper = access.constraints.find(({ left, right }) => sameVariable(left, variable) && !sameVariable(right, variable))
  return { least: lower && form(lower.left, -lower.bound), above: upper && form(upper.right, upper.bound + 1) }
}

function form(variable: Variable | undefined, offset: number): Form {
  return variable === undefined ? { offset } : { variable, offset }
}

function plus({ variable, offset }: Form, constant: number): Form {
  return form(variable, offset + constant)
}

function formText({ variable, offset }: Form, naming: Naming): string {
  if (variable === undefined) return String(offset)
  const name = naming(variable)
  if (typeof name === 'number') return String(name + offset)
  return offset === 0 ? name : offset > 0 ? `${name} + ${offset}` : `${name} - ${-offset}`
}
