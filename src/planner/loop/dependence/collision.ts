/**
 * Writes "iterations p and q touch one element with these two accesses" as systems of equations and inequalities.
 *
 * Both are iterations, both accesses happen, each subscript lies within its axis, and those of an axis agree. Where
 * guards or choices leave cases, there is one system for each combination of them.
 */
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Access, Subscript } from '../accesses/accesses.ts'
import { constantForm, type Form, singleVariable } from '../accesses/affine.ts'
import { extentForm, keyForm } from '../accesses/axisForms.ts'
import { type Collision, Facts } from './facts.ts'

const NEVER: Collision = { systems: [], complete: true, needsExtents: false }

export function collisionOf(spec: LoopSpec, atP: Access, atQ: Access): Collision {
  const axes = Math.min(atP.subscripts.length, atQ.subscripts.length)
  const pairs = Array.from({ length: axes }, (_, axis) => [atP.subscripts[axis], atQ.subscripts[axis]] as const)
  const promises = pairs.flatMap(([a, b]) => promisedPlaces(a, b))
  if (promises.some((places) => places.length === 0)) return NEVER

  const { rank, extents } = spec.over
  const facts = new Facts(rank)
  const shape = extentForms(spec, atP)
  for (const [side, access] of [
    ['p', atP],
    ['q', atQ],
  ] as const) {
    for (const [axis, extent] of extents.entries()) {
      facts.within(side, keyForm(spec, axis), extent === undefined ? undefined : constantForm(extent))
    }
    for (const constraint of access.constraints) facts.hold(side, constraint)
    for (const [axis, subscript] of access.subscripts.entries()) {
      // Two subscripts that agree lie within the axis if one of them does.
      if (subscript.kind === 'affine' && (side === 'p' || pairs[axis]?.[0]?.kind !== 'affine')) {
        facts.within(side, subscript.form, shape[axis])
      }
    }
  }
  for (const [a, b] of pairs) if (a?.kind === 'affine' && b?.kind === 'affine') facts.agree(a.form, b.form)
  for (const { p, q } of promises.flat()) facts.agree(p, q)
  return facts.systems()
}

/** Returns the extents of the accessed array; empty where no binding has it, so that only keys >= 0 is known. */
export function extentForms(spec: LoopSpec, access: Access): (Form | undefined)[] {
  const binding = Object.values(spec.env).find(
    (bound) => (bound.kind === 'array' || bound.kind === 'buffer') && bound.array === access.array,
  )
  return binding === undefined ? [] : access.subscripts.map((_, axis) => extentForm(binding, axis))
}

/**
 * Returns the places at which both subscripts, equal sums with a value of `assume.distinct`, were read. Equal values were read at one
 * place, so the places are equal too, axis by axis where they have forms; no such axis means that they never agree: that is the promise.
 * Empty where no promise applies.
 */
function promisedPlaces(a: Subscript | undefined, b: Subscript | undefined): { readonly p: Form; readonly q: Form }[][] {
  if (a?.kind !== 'affine' || b?.kind !== 'affine') return []
  const [left, right] = [singleVariable(a.form), singleVariable(b.form)]
  if (left?.kind !== 'distinct' || right?.kind !== 'distinct') return []
  if (left.array !== right.array || a.form.offset !== b.form.offset) return []
  return [
    left.at.flatMap((p, axis) => {
      const q = right.at[axis]
      return p === undefined || q === undefined ? [] : [{ p, q }]
    }),
  ]
}
