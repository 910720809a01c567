/** The stack of the calls under way of a function that calls itself: an array of 32-bit integers and one of doubles, a row for each call. */
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
  readonly int32s: ReadonlySet<string>
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
  const { recursion, typeOf, int32s, site, calls, kept, loop } = of
  const { name, node, label } = recursion
  const { span } = loop
  const local = (one: string): Expr & { readonly kind: 'Local' } => ({ kind: 'Local', name: one, span })
  const isTruth = (one: string): boolean => typeOf(local(one))?.type.kind === 'bool'
  for (const one of kept) {
    const found = typeOf(local(one))
    if (found !== undefined && !found.nullable && (isNumberType(found.type) || found.type.kind === 'bool')) continue
    const isGiven = [...recursion.sites.values()].includes(one)
    l.refuse('recursive-locals', node, name, isGiven ? 'what it returned' : one.replace(/\$\d+$/, ''))
    return undefined
  }
  // where there is one call, it is the one that has returned
  const small = [...(calls > 1 ? [site] : []), ...kept.filter((one) => int32s.has(one) || isTruth(one)).map(local)]
  const wide = kept.filter((one) => !int32s.has(one) && !isTruth(one)).map(local)
  const most = Math.min(MOST_DEEP, Math.floor(MOST_STACK / Math.max(1, 4 * small.length + 8 * wide.length)))
  const arrays = [
    { places: small, array: arrayOf(l, of, 'i32', [most, small.length]) },
    { places: wide, array: arrayOf(l, of, 'f64', [most, wide.length]) },
  ]
  if (arrays.some(({ places, array }) => places.length > 0 && array === undefined)) return undefined
  const depth = local(recursion.depth)
  const rows = arrays.flatMap(({ places, array = '' }) =>
    places.map((place, i) => ({ place, array, subscripts: [depth, literal(i, span)], isBit: isTruth(place.name) })),
  )
  const push = rows.map(({ place, array, subscripts, isBit }): Stmt => {
    const value = isBit ? conditional(place, literal(1, span), literal(0, span), span) : place
    return { kind: 'Write', array, subscripts, value, span }
  })
  const isOuter = binary('===', depth, literal(0, span), span)
  const pop: Stmt[] = [
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    { kind: 'If', test: isOuter, then: [{ kind: 'Break', label, span }], else: [], span },
    assign(depth, binary('-', depth, literal(1, span), span)),
    ...(calls > 1 ? [] : [assign(site, literal(1, span))]),
    ...rows.map(({ place, array, subscripts, isBit }) => {
      const read: Expr = { kind: 'Read', array, subscripts, span }
      return assign(place, isBit ? truth(read) : read)
    }),
  ]
  return { push, pop, most }
}

export function assign({ name }: { readonly name: string }, value: Expr): Stmt {
  return { kind: 'Assign', local: name, value, span: value.span }
}

/** Returns an array of a stack. Loops of one function that follow each other share it: when one begins, none of the others runs. */
function arrayOf(l: Lowering, { recursion, loop }: Kept, dtype: 'i32' | 'f64', shape: readonly [number, number]): string | undefined {
  const { f, name, node } = recursion
  const [, width] = shape
  if (width === 0) return undefined
  const inside = new Set<string>()
  visitStmts(loop.body, (stmt) => void (stmt.kind === 'Write' && inside.add(stmt.array)))
  const stacks = l.stacks.get(f) ?? []
  const known = stacks.find((one) => one.dtype === dtype && one.width === width && one.most === shape[0] && !inside.has(one.array))
  if (known !== undefined) return known.array
  const array = arrayOfBody(l, { name: `${name}_calls`, dtype, node, text: `the calls of ${name}` }, shape)
  if (array !== undefined) l.stacks.set(f, [...stacks, { array, dtype, width, most: shape[0] }])
  return array
}
