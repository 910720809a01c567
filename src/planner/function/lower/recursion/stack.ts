/** The stack of the calls under way of a function that calls itself: an array for each local that is kept, with a place for each call. */
import { type Expr, type Stmt, visitStmts } from '../../../../core/ir/functionIr.ts'
import { isNumberType, type TypeOf } from '../../../../core/ir/irTypes.ts'
import { arrayOfBody } from '../../lists/madeArrays.ts'
import { binary, conditional, literal, truth } from '../build.ts'
import type { Lowering } from '../lowering.ts'
import type { Recursion } from '../loweringParts.ts'
import { MOST_DEEP } from './selfCalls.ts'

/** Most bytes of a stack; calls that need more bytes each may go less deep. */
const MOST_STACK = 2 ** 19

interface Kept {
  readonly recursion: Recursion
  readonly loop: Extract<Stmt, { readonly kind: 'For' }>
  readonly typeOf: TypeOf
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
  const { recursion, typeOf, site, calls, kept, loop } = of
  const { name, node, label } = recursion
  const { span } = loop
  const local = (one: string): Expr & { readonly kind: 'Local' } => ({ kind: 'Local', name: one, span })
  const isTruth = (one: string): boolean => typeOf(local(one))?.type.kind === 'bool'
  for (const one of kept) {
    const found = typeOf(local(one))
    if (found !== undefined && !found.nullable && (isNumberType(found.type) || found.type.kind === 'bool')) continue
    const own = one.replace(/\$\d+$/, '')
    const isUnnamed = own === 'temp' || [...recursion.sites.values()].includes(one)
    l.refuse('recursive-locals', node, name, isUnnamed ? 'what it has computed' : own)
    return undefined
  }
  // where there is one call, it is the one that has returned
  const places = [...(calls > 1 ? [site] : []), ...kept.map(local)]
  const most = Math.min(MOST_DEEP, Math.floor(MOST_STACK / (8 * Math.max(1, places.length))))
  const arrays = arraysFor(l, of, places, most)
  if (arrays === undefined) return undefined
  const depth = local(recursion.depth)
  const rows = places.map((place, i) => ({ place, array: arrays[i] as string, isBit: isTruth(place.name) })) // one each
  const push = rows.map(({ place, array, isBit }): Stmt => {
    const value = isBit ? conditional(place, literal(1, span), literal(0, span), span) : place
    return { kind: 'Write', array, subscripts: [depth], value, span }
  })
  const isOuter = binary('===', depth, literal(0, span), span)
  const pop: Stmt[] = [
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    { kind: 'If', test: isOuter, then: [{ kind: 'Break', label, span }], else: [], span },
    assign(depth, binary('-', depth, literal(1, span), span)),
    ...(calls > 1 ? [] : [assign(site, literal(1, span))]),
    ...rows.map(({ place, array, isBit }) => {
      const read: Expr = { kind: 'Read', array, subscripts: [depth], span }
      return assign(place, isBit ? truth(read) : read)
    }),
  ]
  return { push, pop, most }
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
  const { f, name, node } = recursion
  const inside = new Set<string>()
  visitStmts(loop.body, (stmt) => void (stmt.kind === 'Write' && inside.add(stmt.array)))
  const free = (l.stacks.get(f) ?? []).filter((one) => one.most === most && !inside.has(one.array))
  const arrays: string[] = []
  for (const [i, place] of places.entries()) {
    const text = `the calls of ${name}`
    const array = free[i]?.array ?? arrayOfBody(l, { name: `${name}_${place.name}`, dtype: 'f64', node, text }, [most])
    if (array === undefined) return undefined
    if (free[i] === undefined) l.stacks.set(f, [...(l.stacks.get(f) ?? []), { array, most }])
    // the number of a call is given to its local by the stack alone
    if (place !== site) l.keeps.set(array, [...(l.keeps.get(array) ?? []), place.name])
    arrays.push(array)
  }
  return arrays
}
