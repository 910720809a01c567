/**
 * The system of "iterations p and q touch one element with these two accesses", in difference constraints.
 *
 * Variables, in this order: the constant 0; the axes of p; the axes of q; then, as they are met, inner loop indices
 * (of each side its own) and extents (shared, since they are the same in all iterations).
 */
import type { LoopSpec } from '../../core/loopSpec.ts'
import type { Access, Subscript } from './accesses.ts'
import { extentForm } from './accesses.ts'
import { type Form, type Variable, variableId } from './affine.ts'
import { Differences } from './differences.ts'
import type { Constraint } from './guards.ts'

type Side = 'p' | 'q'

/** The system, or undefined when the accesses never meet in different iterations. */
export function collisionSystem(spec: LoopSpec, atP: Access, atQ: Access): Differences | undefined {
  const axes = Math.min(atP.subscripts.length, atQ.subscripts.length)
  const pairs = Array.from({ length: axes }, (_, axis) => [atP.subscripts[axis], atQ.subscripts[axis]] as const)
  const promises = pairs.flatMap(([a, b]) => promisedPlaces(a, b))
  if (promises.some((places) => places.length === 0)) return undefined
  const samePlaces = promises.flat()

  const numbers = new Numbers(spec.over.rank)
  const sides = [
    ['p', atP],
    ['q', atQ],
  ] as const
  // First all variables, then the system over them.
  const extents = extentForms(spec, atP)
  for (const [side, access] of sides) {
    for (const subscript of access.subscripts) if (subscript.kind === 'affine') numbers.of(side, subscript.form.variable)
    for (const { left, right } of access.constraints) {
      numbers.of(side, left)
      numbers.of(side, right)
    }
  }
  for (const extent of extents) numbers.of('p', extent.variable)
  for (const { p, q } of samePlaces) {
    numbers.of('p', p.variable)
    numbers.of('q', q.variable)
  }

  const system = new Differences(numbers.count)
  for (const [side, access] of sides) {
    for (const [axis, extent] of spec.over.extents.entries()) {
      const index = numbers.of(side, { kind: 'key', axis })
      system.atMost(0, index, 0)
      if (extent !== undefined) system.atMost(index, 0, extent - 1)
    }
    for (const constraint of access.constraints) addConstraint(system, numbers, side, constraint)
    for (const [axis, subscript] of access.subscripts.entries()) {
      if (subscript.kind === 'affine') addBounds(system, numbers, side, subscript.form, extents[axis])
    }
  }
  for (const [a, b] of pairs) {
    if (a?.kind !== 'affine' || b?.kind !== 'affine') continue
    system.equal(numbers.of('p', a.form.variable), numbers.of('q', b.form.variable), b.form.offset - a.form.offset)
  }
  for (const { p, q } of samePlaces) system.equal(numbers.of('p', p.variable), numbers.of('q', q.variable), q.offset - p.offset)
  return system.feasible ? system : undefined
}

/** Numbers the variables of a system as they are met. */
class Numbers {
  count: number
  private readonly rank: number
  private readonly known = new Map<string, number>()

  constructor(rank: number) {
    this.rank = rank
    this.count = 1 + 2 * rank
  }

  of(side: Side, variable: Variable | undefined): number {
    if (variable === undefined) return 0
    if (variable.kind === 'key') return 1 + (side === 'p' ? 0 : this.rank) + variable.axis
    const id = variable.kind === 'extent' ? variableId(variable) : `${side} ${variableId(variable)}`
    const number = this.known.get(id) ?? this.count++
    this.known.set(id, number)
    return number
  }
}

function addConstraint(system: Differences, numbers: Numbers, side: Side, { left, right, bound }: Constraint): void {
  system.atMost(numbers.of(side, left), numbers.of(side, right), bound)
}

/** A subscript outside its axis is an error of the run and touches nothing. */
function addBounds(system: Differences, numbers: Numbers, side: Side, form: Form, extent: Form | undefined): void {
  const variable = numbers.of(side, form.variable)
  system.atMost(0, variable, form.offset)
  if (extent !== undefined) system.atMost(variable, numbers.of(side, extent.variable), extent.offset - form.offset - 1)
}

/** The extents of the accessed array; empty where nothing is known of it but that keys are not negative. */
function extentForms(spec: LoopSpec, access: Access): Form[] {
  const binding = Object.values(spec.env).find(
    (bound) => (bound.kind === 'array' || bound.kind === 'buffer') && bound.array === access.array,
  )
  if (binding !== undefined) return access.subscripts.map((_, axis) => extentForm(binding, axis) ?? { offset: Number.MAX_SAFE_INTEGER })
  return []
}

/**
 * Where both subscripts are the same sum with a value of `assume.distinct`: equal values were read at one place, so the
 * places are equal too, axis by axis where they have forms. No axis with forms says that the places never agree: that
 * is the promise. No promise, no entry.
 */
function promisedPlaces(a: Subscript | undefined, b: Subscript | undefined): { readonly p: Form; readonly q: Form }[][] {
  if (a?.kind !== 'affine' || b?.kind !== 'affine') return []
  const [left, right] = [a.form.variable, b.form.variable]
  if (left?.kind !== 'distinct' || right?.kind !== 'distinct') return []
  if (left.array !== right.array || a.form.offset !== b.form.offset) return []
  return [
    left.at.flatMap((p, axis) => {
      const q = right.at[axis]
      return p === undefined || q === undefined ? [] : [{ p, q }]
    }),
  ]
}
