/** Prints subscripts: `u`, `i - 1`, `0:K`, `:` for a whole axis, `? cols.get(k)` for what only the data can tell. */

import type { Key } from '../../../core/arrays/keys.ts'
import { type Expr, expressionsOf, type FunctionIr, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Access, Subscript } from './accesses.ts'
import { boundsOf, type Form, sameForm, sum, type Variable } from './affine.ts'
import { extentForm } from './axisForms.ts'

/** A function that writes variables: as a name, or as a number where the value is known. */
export type Naming = (variable: Variable) => string | number

const AXIS_NAMES = ['i', 'j', 'k', 'l', 'm', 'n']

/** The key as a pattern, as most bodies take it; it names indices that are never used: `([t, i], …` or `(value, [u, m], …`. */
const KEY_PATTERN = /^\(\s*(?:[\w$]+\s*,\s*)?\[([\w$\s,]*)\]/

/** Returns the names that the body gives to the axes of the key; i, j, k for axes without one, and for all where two would be the same. */
export function axisNames(rank: number, ir: FunctionIr | undefined, source = ''): string[] {
  const written = KEY_PATTERN.exec(source)?.[1]?.split(',') ?? []
  const names = Array.from({ length: rank }, (_, axis) => AXIS_NAMES[axis] ?? `i${axis}`)
  const note = (expr: Expr) => {
    if (expr.kind === 'Key' && /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(expr.span.text)) found.set(expr.axis, expr.span.text)
  }
  const found = new Map<number, string>()
  visitStmts(ir?.body ?? [], (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, note)
  })
  const named = names.map((name, axis) => found.get(axis) ?? (written[axis]?.trim() || name))
  return new Set(named).size === rank ? named : names
}

/** Returns a naming of loop indices by their names. */
export function symbolically(names: readonly string[]): Naming {
  return (variable) => {
    switch (variable.kind) {
      case 'key':
        return names[variable.axis] ?? `i${variable.axis}`
      case 'inner':
      case 'extent':
        return variable.name
      case 'choice':
        return variable.name.includes(' ? ') ? `(${variable.name})` : variable.name
      case 'distinct':
        return `? ${variable.array}`
      case 'quotient':
        return `Math.floor(${formText(variable.of, symbolically(names))} / ${variable.by})`
    }
  }
}

/** Returns a naming of loop indices by their values in one iteration. */
export function atIteration(key: Key, names: readonly string[]): Naming {
  const naming: Naming = (variable) => {
    if (variable.kind === 'key') return key[variable.axis] ?? 0
    const of = variable.kind === 'quotient' ? numberOf(variable.of, naming) : undefined
    if (variable.kind !== 'quotient' || of === undefined) return symbolically(names)(variable)
    return (variable.toward === 'floor' ? Math.floor(of / variable.by) : Math.trunc(of / variable.by)) + 0
  }
  return naming
}

/** Returns the value of a form; undefined where a variable is not written as a number. */
function numberOf({ terms, offset }: Form, naming: Naming): number | undefined {
  return terms.reduce<number | undefined>((value, { variable, factor }) => {
    const named = value === undefined ? '' : naming(variable)
    return value === undefined || typeof named === 'string' ? undefined : value + factor * named
  }, offset)
}

/** Prints the element that an access touches, as `W[u, :]`. */
export function elementText(spec: LoopSpec, access: Access, naming: Naming): string {
  return `${access.name}[${subscriptTexts(spec, access, naming).join(', ')}]`
}

/** Returns one text per axis of the accessed array. */
export function subscriptTexts(spec: LoopSpec, access: Access, naming: Naming): string[] {
  return access.subscripts.map((subscript, axis) => subscriptText(spec, access, subscript, axis, naming))
}

function subscriptText(spec: LoopSpec, access: Access, subscript: Subscript, axis: number, naming: Naming): string {
  if (subscript.kind === 'unknown') return `? ${subscript.text}`
  const { form, text } = subscript
  // Quotients and remainders are printed as the body wrote them, unless the iteration decides them.
  if (text !== undefined) return String(numberOf(form, naming) ?? text)
  const inner = form.terms.filter(({ variable }) => variable.kind === 'inner')
  const [index] = inner
  if (inner.length !== 1 || index?.factor !== 1) return formText(form, naming)
  // The other terms of the subscript shift the range of the index.
  const rest = { terms: form.terms.filter((term) => term !== index), offset: form.offset }
  const { least, above } = rangeOf(access, index.variable)
  const extent = extentForm(spec.env[access.name], axis)
  const from = least && sum(least, rest, 1)
  const to = above && sum(above, rest, 1)
  const startsWhole = from !== undefined && from.terms.length === 0 && from.offset <= 0
  const endsWhole =
    to !== undefined &&
    (sameForm(to, extent) || (to.terms.length === 0 && extent?.terms.length === 0 && to.offset >= (extent?.offset ?? Infinity)))
  if (startsWhole && endsWhole) return ':'
  return `${from === undefined ? '' : formText(from, naming)}:${to === undefined ? '' : formText(to, naming)}`
}

/** Returns the range of an inner loop index, from the first constraints on it, which are those of its loop. */
function rangeOf({ constraints }: Access, variable: Variable): { readonly least: Form | undefined; readonly above: Form | undefined } {
  const {
    lows: [least],
    highs: [most],
  } = boundsOf(variable, constraints)
  return { least, above: most && plus(most, 1) }
}

function plus({ terms, offset }: Form, constant: number): Form {
  return { terms, offset: offset + constant }
}

/** Prints a form, as `2 * i - j + 1` or `99 - i`; the terms whose variables are numbers are added up. */
function formText(form: Form, naming: Naming): string {
  let { offset } = form
  const added: string[] = []
  const subtracted: string[] = []
  const keysFirst = form.terms.toSorted((a, b) => Number(b.variable.kind === 'key') - Number(a.variable.kind === 'key'))
  for (const { variable, factor } of keysFirst) {
    const name = naming(variable)
    if (typeof name === 'number') offset += factor * name
    else (factor > 0 ? added : subtracted).push(Math.abs(factor) === 1 ? name : `${Math.abs(factor)} * ${name}`)
  }
  const first = added.length === 0 && (offset > 0 || subtracted.length === 0)
  const head = first ? [String(offset), ...added].join(' + ') : added.join(' + ')
  const tail = first || offset === 0 ? '' : offset > 0 ? ` + ${offset}` : ` - ${-offset}`
  const minus = subtracted.map((text) => ` - ${text}`).join('')
  return `${head}${minus}${tail}`.replace(/^ - /, '-')
}
