/** The iteration space of a loop, and walks through the keys of its iterations. */
import type { Storage } from '../../../core/arrays/storage.ts'
import type { LoopInputs } from '../loopInputs.ts'
import { iterationsBefore, piecesOf, placeInStep } from './pieces.ts'
import { type BlockSchedule, extentsOf, type IterationSpace } from './schedule.ts'

export function spaceOf(over: LoopInputs['over']): IterationSpace {
  return over.kind === 'range' ? { kind: 'box', extents: over.extents } : spaceOfStorage(over.storage)
}

function spaceOfStorage(storage: Storage): IterationSpace {
  switch (storage.kind) {
    case 'dense':
      return { kind: 'box', extents: storage.shape }
    case 'sparse':
      return { kind: 'sparse', extents: storage.shape, keys: storage.keys, length: storage.length }
    case 'table':
      return { kind: 'rows', length: storage.length }
  }
}

/** Calls `visit` for every iteration in the serial order the schedule is equivalent to, with the lane of its block. */
export function visitSerially(
  space: IterationSpace,
  schedule: BlockSchedule,
  visit: (position: number, key: number[], lane: number) => void,
): void {
  if (!schedule.keyOrder) {
    for (let block = 0; block < schedule.count; block++) {
      const lane = schedule.lanes[placeInStep(schedule, block)] as number
      visitBlock(space, schedule, block, (position, key) => visit(position, key, lane))
    }
    return
  }
  const lanes = lanesInKeyOrder(space, schedule)
  let key = new Array<number>(rankOfSpace(space)).fill(0)
  for (let position = 0; position < schedule.iterations; position++) {
    visit(position, space.kind === 'box' ? [...key] : keyAtPosition(space, position), lanes(position))
    if (space.kind === 'box') key = nextKey(key, space.extents)
  }
}

export function rankOfSpace(space: IterationSpace): number {
  return space.kind === 'rows' ? 1 : space.extents.length
}

export function keyAtPosition(space: IterationSpace, position: number): number[] {
  switch (space.kind) {
    case 'rows':
      return [position]
    case 'sparse':
      return space.keys.map((column) => column[position] as number)
    case 'box': {
      const key = new Array<number>(space.extents.length)
      let rest = position
      for (let axis = key.length - 1; axis >= 0; axis--) {
        const extent = space.extents[axis] ?? 1
        key[axis] = rest % extent
        rest = Math.floor(rest / extent)
      }
      return key
    }
  }
}

function nextKey(key: number[], extents: readonly number[]): number[] {
  for (let axis = key.length - 1; axis >= 0; axis--) {
    key[axis]!++
    if ((key[axis] as number) < (extents[axis] as number)) break
    key[axis] = 0
  }
  return key
}

/** Positions of a block in its order: row-major in the space for a box, the element's position for sparse data. */
function visitBlock(space: IterationSpace, schedule: BlockSchedule, block: number, visit: (position: number, key: number[]) => void): void {
  const isRun = schedule.boxes === undefined && schedule.forms === undefined
  const before = iterationsBefore(schedule, block)
  for (const { box, from, to } of piecesOf(schedule, extentsOf(space), block)) {
    if (isRun || space.kind !== 'box') {
      for (let place = from; place < to; place++) {
        const position = schedule.order === undefined ? before + place : (schedule.order[place] as number)
        visit(position, keyAtPosition(space, position))
      }
      continue
    }
    const widths = space.extents.map((_, axis) => (box[2 * axis + 1] as number) - (box[2 * axis] as number))
    const inner: IterationSpace = { kind: 'box', extents: widths }
    for (let place = from; place < to; place++) {
      const key = keyAtPosition(inner, place).map((k, axis) => k + (box[2 * axis] as number))
      visit(
        key.reduce((position, k, axis) => position * (space.extents[axis] as number) + k, 0),
        key,
      )
    }
  }
}

function lanesInKeyOrder(space: IterationSpace, schedule: BlockSchedule): (position: number) => number {
  if (schedule.laneCount === 1) return () => 0
  const lanes = new Int32Array(schedule.iterations)
  for (let block = 0; block < schedule.count; block++) {
    const lane = schedule.lanes[placeInStep(schedule, block)] as number
    visitBlock(space, schedule, block, (position) => {
      lanes[position] = lane
    })
  }
  return (position) => lanes[position] as number
}

/** The keys of all iterations in the order of `visitSerially`, one after another. */
export function serialOrderOf(space: IterationSpace, schedule: BlockSchedule): Int32Array {
  const rank = rankOfSpace(space)
  const keys = new Int32Array(schedule.iterations * rank)
  let at = 0
  visitSerially(space, schedule, (_, key) => {
    for (let axis = 0; axis < rank; axis++) keys[at++] = key[axis] as number
  })
  return keys
}
