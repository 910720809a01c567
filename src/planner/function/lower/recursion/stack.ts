/**
 * The stack of the calls under way of a function that calls itself: an array for each local that is kept, with a place for each call. A
 * number that may be absent has a second one, with 0 where it is there, 1 where it is undefined and 2 where it is null.
 */
import { childrenOf, type Expr, expressionsOf, type Stmt, visitStmts } from '../../../../core/ir/functionIr.ts'
import { isNumberType, type TypeOf } from '../../../../core/ir/irTypes.ts'
import { arrayOfBody } from '../../lists/madeArrays.ts'
import { binary, conditional, literal, logical, truth } from '../build.ts'
import type { Lowering } from '../lowering.ts'
import type { Recursion } from '../loweringParts.ts'
import { MOST_DEEP } from './selfCalls.ts'

/** Most bytes of a stack; calls that need more bytes each may go less deep. */
const MOST_STACK = 2 ** 19

interface Kept {
  readonly recursion: Recursion
  readonly loop: Extract<Stmt, { readonly kind: 'For' }>
  readonly typeOf: TypeOf
  /** Whether some local may hold null. */
  readonly hasNull: boolean
  /** The local with the number of the call that has returned, and how many calls stand in the text. */
  readonly site: Expr & { readonly kind: 'Local' }
  readonly calls: number
  /** The locals that lie on the stack. */
  readonly kept: readonly string[]
}

interface Stack {
  /** What a call puts onto the stack; `site` itself stands for its number. */
  readonly push: readonly Stmt[]
  /** What takes the last call off again, or leaves the loop. */
  readonly pop: readonly Stmt[]
  /** The most calls under way. */
  readonly most: number
}

/** Builds the statements that put a call onto the stack and take it off; undefined where a local is nothing that lies on it. */
export function stackOf(l: Lowering, of: Kept): Stack | undefined {
  const { recursion, typeOf, site, calls, kept, loop, hasNull } = of
  const { name, node, label } = recursion
  const { span } = loop
  const local = (one: string): Expr & { readonly kind: 'Local' } => ({ kind: 'Local', name: one, span })
  const isTruth = (one: string): boolean => typeOf(local(one))?.type.kind === 'bool'
  const mayBeAbsent = (one: string): boolean => typeOf(local(one))?.nullable === true
  for (const one of kept) {
    const found = typeOf(local(one))
    if (found !== undefined && (isNumberType(found.type) || (found.type.kind === 'bool' && !found.nullable))) continue
    const own = one.replace(/\$\d+$/, '')
    const isUnnamed = own === 'temp' || [...recursion.sites.values()].includes(one)
    l.refuse('recursive-locals', node, name, isUnnamed ? 'what it has computed' : own)
    return undefined
  }
  // where there is one call, it is the one that has returned
  const absents = kept.filter(mayBeAbsent).map(local)
  const places = [...(calls > 1 ? [site] : []), ...kept.filter((one) => !mayBeAbsent(one)).map(local)]
  const most = Math.min(MOST_DEEP, Math.floor(MOST_STACK / (8 * Math.max(1, places.length + 2 * absents.length))))
  const arrays = arraysFor(l, of, places, most)
  const pairs = absents.map((place) => {
    const [value, absent] = [arrayFor(l, of, place.name, most), arrayFor(l, of, `${place.name}_absent`, most)]
    return value === undefined || absent === undefined ? undefined : { place, value, absent }
  })
  if (arrays === undefined || pairs.includes(undefined)) return undefined
  const depth = local(recursion.depth)
  const rows = places.map((place, i) => ({ place, array: arrays[i] as string, isBit: isTruth(place.name) })) // one each
  const push = rows.map(({ place, array, isBit }): Stmt => {
    const value = isBit ? conditional(place, literal(1, span), literal(0, span), span) : place
    return { kind: 'Write', array, subscripts: [depth], value, span }
  })
  const top = (array: string): Expr => ({ kind: 'Read', array, subscripts: [depth], span })
  const takes: Stmt[] = []
  for (const { place, value, absent } of pairs.flatMap((pair) => pair ?? [])) {
    const isAbsent = (what: null | undefined): Expr => binary(hasNull ? '===' : '==', place, literal(what, span), span)
    const why = (what: undefined | null, number: number, otherwise: Expr): Expr =>
      conditional(isAbsent(what), literal(number, span), otherwise, span)
    const there = literal(0, span)
    push.push(
      { kind: 'Write', array: value, subscripts: [depth], value: logical('??', place, literal(0, span), span), span },
      { kind: 'Write', array: absent, subscripts: [depth], value: why(undefined, 1, hasNull ? why(null, 2, there) : there), span },
    )
    const has = (number: number): Expr => binary('===', top(absent), literal(number, span), span)
    const nothing = hasNull ? conditional(has(1), literal(undefined, span), literal(null, span), span) : literal(undefined, span)
    takes.push(assign(place, conditional(has(0), top(value), nothing, span)))
  }
  const isOuter = binary('===', depth, literal(0, span), span)
  const pop: Stmt[] = [
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    { kind: 'If', test: isOuter, then: [{ kind: 'Break', label, span }], else: [], span },
    assign(depth, binary('-', depth, literal(1, span), span)),
    ...(calls > 1 ? [] : [assign(site, literal(1, span))]),
    ...rows.map(({ place, array, isBit }) => {
      return assign(place, isBit ? truth(top(array)) : top(array))
    }),
    ...takes,
  ]
  return { push, pop, most }
}

/** Whether null is among what locals are given. */
export function givesNull(stmts: readonly Stmt[]): boolean {
  let isGiven = false
  visitStmts(stmts, (stmt) => {
    for (const top of expressionsOf(stmt)) isGiven ||= mayGiveNull(top)
  })
  return isGiven
}

function mayGiveNull(expr: Expr): boolean {
  if (expr.kind === 'Binary' && /^[!=]==?$/.test(expr.operator)) return false // comparisons with null give truth values
  return (expr.kind === 'Literal' && expr.value === null) || childrenOf(expr).some(mayGiveNull)
}

export function assign({ name }: { readonly name: string }, value: Expr): Stmt {
  return { kind: 'Assign', local: name, value, span: value.span }
}

/** Returns an array for each local. Loops of one function that follow each other share them: when one begins, none of the others runs. */
function arraysFor(
  l: Lowering,
  { recursion, loop, site }: Kept,
  places: readonly { readonly name: string }[],
  most: number,
): readonly string[] | undefined {
  const { f } = recursion
  const inside = new Set<string>()
  visitStmts(loop.body, (stmt) => void (stmt.kind === 'Write' && inside.add(stmt.array)))
  const free = (l.stacks.get(f) ?? []).filter((one) => one.most === most && !inside.has(one.array))
  const arrays: string[] = []
  for (const [i, place] of places.entries()) {
    const array = free[i]?.array ?? arrayFor(l, { recursion }, place.name, most)
    if (array === undefined) return undefined
    if (free[i] === undefined) l.stacks.set(f, [...(l.stacks.get(f) ?? []), { array, most }])
    // the number of a call is given to its local by the stack alone
    if (place !== site) l.keeps.set(array, [...(l.keeps.get(array) ?? []), place.name])
    arrays.push(array)
  }
  return arrays
}

function arrayFor(l: Lowering, { recursion: { name, node } }: Pick<Kept, 'recursion'>, place: string, most: number): string | undefined {
  return arrayOfBody(l, { name: `${name}_${place}`, dtype: 'f64', node, text: `the calls of ${name}` }, [most])
}
