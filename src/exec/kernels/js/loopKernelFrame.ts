/**
 * The text around an iteration in a loop kernel: declarations of what it is bound to, and the loops over the
 * places of a block.
 */
import type { FunctionIr } from '../../../core/ir/functionIr.ts'
import type { ColumnShape, ElementShape, KernelShape } from './loopKernelShape.ts'

/** Declares names for the members of the factory's `KernelBinding`. */
export function prelude(ir: FunctionIr, shape: KernelShape): string[] {
  const lines = ['const { outside, at } = bind']
  for (const [i, array] of [...shape.arrays.values()].entries()) {
    const from = `bind.arrays[${i}]`
    lines.push(...array.extents.map((_, axis) => `const A${i}n${axis} = ${from}.extents[${axis}]`))
    if (array.kind === 'keyed') lines.push(`const A${i} = ${from}.keyed`)
    else {
      lines.push(`const A${i} = ${from}.data`, ...array.strides.map((_, axis) => `const A${i}s${axis} = ${from}.strides[${axis}]`))
      if (array.adds !== 'direct') lines.push(`const D${i} = ${from}.lanes, D${i}n = ${from}.laneLength`)
      if (array.adds === 'lane-touched' || array.adds === 'lane-combined') lines.push(`const Z${i} = ${from}.touched`)
      if (array.adds === 'lane-combined') lines.push(`const F${i} = ${from}.combine`)
    }
  }
  lines.push(...[...shape.accumulators].map((_, i) => `const C${i} = bind.accumulators[${i}]`))
  lines.push(...rngNames(ir).map((_, i) => `const R${i} = bind.rngs[${i}]`))
  lines.push(...ir.tables.map((_, i) => `const T${i} = bind.tables[${i}]`))
  if (shape.permuted) lines.push('const order = bind.order')
  if (shape.space === 'sparse') lines.push(...shape.extents.map((_, axis) => `const K${axis} = bind.keys[${axis}]`))
  const element = shape.element
  if (element.kind === 'dense') {
    lines.push('const X = bind.element.data')
    lines.push(...shape.extents.map((_, axis) => `const Xs${axis} = bind.element.strides[${axis}]`))
  }
  for (const [i] of columnsOf(element).entries()) {
    lines.push(
      `const E${i} = bind.element.columns[${i}].values, E${i}v = bind.element.columns[${i}].validity, E${i}r = bind.element.columns[${i}].read`,
    )
  }
  lines.push('const unset = bind')
  return lines
}

/** Returns the columns from which an element is read. */
export function columnsOf(element: ElementShape): readonly ColumnShape[] {
  if (element.kind === 'scalar') return [element.column]
  return element.kind === 'row' ? element.columns : []
}

/** Writes the loops over the places of a block, around the body of one iteration. */
export function placesLoop(shape: KernelShape, iteration: string): string[] {
  if (shape.space !== 'box') {
    const position = shape.permuted ? 'order[p]' : 'p'
    const keys = shape.space === 'rows' ? ['const k0 = q'] : shape.extents.map((_, axis) => `const k${axis} = K${axis}[p]`)
    return [
      'let p = from',
      'try {',
      'iteration: for (; p < to; p++) {',
      `const q = ${position}`,
      ...keys,
      iteration,
      '}',
      '} catch (error) { at.place = p; throw error }',
    ]
  }
  // Odometer over the box: the last axis is the innermost loop.
  const rank = shape.extents.length
  const last = rank - 1
  const lines = shape.extents.map((_, axis) => `const lo${axis} = box[${2 * axis}], hi${axis} = box[${2 * axis + 1}]`)
  lines.push('let rest = from', `let k${last} = lo${last} + rest % (hi${last} - lo${last})`)
  for (let axis = last - 1; axis >= 0; axis--) {
    lines.push(`rest = Math.floor(rest / (hi${axis + 1} - lo${axis + 1}))`, `let k${axis} = lo${axis} + rest % (hi${axis} - lo${axis})`)
  }
  lines.push(
    `let start = from - k${last}`,
    'try {',
    'for (let left = to - from; left > 0;) {',
    `const stop = Math.min(hi${last}, k${last} + left)`,
    `left -= stop - k${last}`,
    `iteration: for (; k${last} < stop; k${last}++) {`,
    iteration,
    '}',
    `if (k${last} === hi${last}) {`,
    `start += hi${last} - lo${last}`,
    `k${last} = lo${last}`,
  )
  for (let axis = last - 1; axis >= 0; axis--) lines.push(`if (++k${axis} === hi${axis}) { k${axis} = lo${axis}`)
  lines.push('}'.repeat(last), '}', '}', `} catch (error) { at.place = start + k${last}; throw error }`)
  return lines
}

/** Returns the index of the current element in the data of the iterated dense array. */
export function elementIndex(shape: KernelShape): string {
  return shape.extents.map((_, axis) => (axis === shape.extents.length - 1 ? `k${axis}` : `k${axis} * Xs${axis}`)).join(' + ')
}

/** Returns the names of the generators in the order of the kernel's binding. */
export function rngNames(ir: FunctionIr): string[] {
  return ir.uses.filter((use) => use.kind === 'rng').map((use) => use.name)
}
