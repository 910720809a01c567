/** The box of keys that a list of selectors names in a shape. */

import { outsideMessage, type Selector, type Shape } from '../../core/arrays/indexSpace.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError } from '../../core/errors.ts'

export interface Selection {
  /** The first index along each axis, and the number of indices. */
  readonly from: readonly number[]
  readonly counts: readonly number[]
  /** The counts of the axes that are not selected by a single index. */
  readonly shape: Shape
  readonly elements: number
}

/** Checks the selectors against the shape; PlanError for one that is outside. `method` and `name` are for messages. */
export function selectionOf(selectors: readonly Selector[], shape: Shape, method: string, name: string): Selection {
  if (selectors.length !== shape.length) {
    throw new PlanError(
      `${method} of ${name}: there ${selectors.length === 1 ? 'is one selector' : `are ${selectors.length} selectors`}, and its shape [${shape.join(', ')}] has ${axes(shape.length)}. Give one selector for each axis: an index, a range [from, to], or null for the whole axis.`,
    )
  }
  const ranges = selectors.map((selector, axis) => rangeOf(selector, axis, selectors, shape, method, name))
  const counts = ranges.map(([from, to]) => to - from)
  return {
    from: ranges.map(([from]) => from),
    counts,
    shape: counts.filter((_, axis) => typeof selectors[axis] !== 'number'),
    elements: counts.reduce((product, count) => product * count, 1),
  }
}

/** The selectors of `row(...prefix)`. */
export function prefixSelectors(prefix: readonly number[], shape: Shape, name: string): Selector[] {
  if (prefix.length >= shape.length) {
    throw new PlanError(
      `row of ${name}: its shape [${shape.join(', ')}] has ${axes(shape.length)}, so a prefix has at most ${shape.length - 1} ${shape.length === 2 ? 'index' : 'indices'}, not ${prefix.length}. For one element use at(…).`,
    )
  }
  return shape.map((_, axis) => prefix[axis] ?? null)
}

function rangeOf(
  selector: Selector,
  axis: number,
  selectors: readonly Selector[],
  shape: Shape,
  method: string,
  name: string,
): readonly [number, number] {
  const extent = shape[axis] ?? 0
  if (selector === null) return [0, extent]
  if (typeof selector === 'number') {
    if (Number.isInteger(selector) && selector >= 0 && selector < extent) return [selector + 0, selector + 1]
    const indices = selectors.slice(0, selectors.findLastIndex((other) => typeof other === 'number') + 1)
    if (indices.every((other) => typeof other === 'number')) throw new PlanError(outsideMessage(name, indices, shape))
    throw new PlanError(
      `${method} of ${name}: the index ${selector} on axis ${axis} is outside its shape [${shape.join(', ')}]. Keys run from 0 to extent - 1; negative keys do not wrap.`,
    )
  }
  if (!Array.isArray(selector)) {
    throw new PlanError(
      `${method} of ${name}: ${valueText(selector)} on axis ${axis} selects nothing. A selector is an index, a range [from, to], or null for the whole axis.`,
    )
  }
  const [from, to] = selector as readonly [number, number]
  if (Number.isInteger(from) && Number.isInteger(to) && from >= 0 && from <= to && to <= extent) return [from + 0, to + 0]
  throw new PlanError(
    `${method} of ${name}: the range [${valueText(from)}, ${valueText(to)}] on axis ${axis} is outside its shape [${shape.join(', ')}]. A range holds the indices from its first number up to, not including, its second: 0 <= from <= to <= ${extent}.`,
  )
}

function axes(count: number): string {
  return count === 1 ? 'one axis' : `${count} axes`
}

/**
 * Calls `visit` for every line of the selection (its elements along the last axis), in key order: the key of the
 * line's first element and how many came before.
 */
export function eachLine(selection: Selection, visit: (key: readonly number[], done: number) => void): void {
  if (selection.elements === 0) return
  const { from, counts } = selection
  const last = counts.length - 1
  const key = [...from]
  const width = counts[last] ?? 1
  for (let done = 0; done < selection.elements; done += width) {
    visit(key, done)
    for (let axis = last - 1; axis >= 0; axis--) {
      if (++key[axis]! < from[axis]! + counts[axis]!) break // axes of from, counts and key are the same
      key[axis] = from[axis]!
    }
  }
}
