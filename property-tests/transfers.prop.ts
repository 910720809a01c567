/**
 * The law of transfers: blocks run in any order that their schedule allows, on nodes that have what was sent to them and nothing else.
 * A block finds the last version of all elements that it touches, nobody is sent an element that it has or does not touch, and after a
 * pass node 0 has all, or what another node needs first in the next one. The reference is one memory in which the blocks run in plan order.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { type Moves, movesOf, type NodeMoves } from '../src/exec/gang/movement/moves.ts'
import {
  type BlockOrder,
  type Box,
  cellsOf,
  type Ends,
  firstHolders,
  precedence,
  type Touch,
  transfersOf,
} from '../src/exec/gang/movement/transfers.ts'
import { cutUnstepped } from '../src/exec/loops/blocks/blockSchedule.ts'
import type { BlockSchedule } from '../src/exec/loops/blocks/schedule.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('transfers.prop.ts', 1000)

let [found, refused] = [0, 0]
afterAll(() => expect(found, `${refused} of ${found + refused} arrays had no transfers`).toBeGreaterThan((found + refused) / 4))

interface Case {
  readonly kind: 'independent' | '2d' | 'wavefront'
  readonly rows: number
  readonly columns: number
  readonly owners: readonly number[]
  readonly arrays: readonly { readonly shape: readonly number[]; readonly accesses: readonly Access[] }[]
  readonly chances: readonly number[]
  readonly ends: Ends
}

/** Along each axis of an array: the row of the block, its column, or everything; and so many elements more at both ends. */
interface Access {
  readonly writes: boolean
  readonly along: readonly { readonly by: 'row' | 'column' | 'all'; readonly low: number; readonly high: number }[]
}

const along = fc.record({
  by: fc.constantFrom<('row' | 'column' | 'all')[]>('row', 'row', 'column', 'column', 'all'),
  low: fc.integer({ min: -1, max: 0 }),
  high: fc.integer({ min: 0, max: 1 }),
})
const tight = along.map((one) => ({ ...one, low: 0, high: 0 }))
const arrayOf = (rank: number) =>
  fc.record({
    shape: fc.tuple(...Array.from({ length: rank }, () => fc.integer({ min: 1, max: 9 }))),
    accesses: fc.array(
      fc.record({
        writes: fc.boolean(),
        along: fc.tuple(...Array.from({ length: rank }, () => fc.oneof({ weight: 3, arbitrary: tight }, along))),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  })
const cases: fc.Arbitrary<Case> = fc.record({
  kind: fc.constantFrom<Case['kind'][]>('independent', '2d', 'wavefront'),
  rows: fc.integer({ min: 1, max: 5 }),
  columns: fc.integer({ min: 1, max: 5 }),
  owners: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 5, maxLength: 5 }),
  arrays: fc.array(fc.oneof(arrayOf(1), arrayOf(2)), { minLength: 1, maxLength: 3 }),
  chances: fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
  ends: fc.constantFrom<Ends[]>('all', 'needed'),
})
const NODES = 3

/** The box of an access: each row and each column has two elements. */
function boxOf({ along }: Access, shape: readonly number[], row: number, column: number): Box | undefined {
  const box = along.flatMap(({ by, low, high }, axis) => {
    const extent = shape[axis] as number
    const at = by === 'row' ? row : column
    const [from, to] = by === 'all' ? [0, extent] : [2 * at + low, 2 * at + 2 + high]
    return [Math.max(0, from), Math.min(extent, to)]
  })
  return box.some((from, i) => i % 2 === 0 && from >= (box[i + 1] as number)) ? undefined : box
}

function elementsOf(box: Box, shape: readonly number[]): number[] {
  let found = [0]
  for (const [axis, extent] of shape.entries()) {
    const [from, to] = [box[2 * axis] as number, box[2 * axis + 1] as number]
    found = found.flatMap((before) => Array.from({ length: to - from }, (_, i) => before * extent + from + i))
  }
  return found
}

test('in any order that the schedule allows blocks find the last version of what they touch, and nothing is moved in vain', () => {
  fc.assert(
    fc.property(cases, ({ kind, rows, columns, owners: ownerOfRow, arrays, chances, ends }) => {
      const { blocks, cellOf } = blocksOf(kind, rows, columns)
      const owners = Int32Array.from({ length: blocks.count }, (_, block) => ownerOfRow[cellOf(block)[0] % 5] as number)
      const isFree = kind === 'independent'
      const order: BlockOrder = { owners, isFree, precedes: precedence(blocks.count, blocks) }
      const touches = arrays.map(({ shape, accesses }) =>
        Array.from({ length: blocks.count }, (_, block): Touch[] =>
          accesses.flatMap((access) => {
            const box = boxOf(access, shape, ...cellOf(block))
            return box === undefined ? [] : [{ box, writes: access.writes }]
          }),
        ),
      )
      const placed = touches.flatMap((list, array) => {
        const cells = cellsOf(list)
        if ('because' in cells) throw new Error(cells.because)
        const isRight = !('because' in transfersOf(cells, order, firstHolders(cells.count, [true, false, false])))
        if (isRight) found++
        else refused++
        return isRight ? [{ array, cells }] : []
      })
      const memories = Array.from({ length: NODES }, (_, node) =>
        arrays.map(({ shape }) => new Float64Array(sizeOf(shape)).fill(node === 0 ? 0 : -1)),
      )
      const reference = arrays.map(({ shape }) => new Float64Array(sizeOf(shape)))
      let holders = placed.map(({ cells }) => firstHolders(cells.count, [true, false, false]))
      let chance = 0
      const draw = (count: number): number => (chances[chance++ % chances.length] as number) % count
      for (let pass = 1; pass <= 3; pass++) {
        const traffic = placed.map(({ array, cells }, i) => {
          const one = transfersOf(cells, order, holders[i] as Uint8Array, ends)
          if ('because' in one) throw new Error(one.because)
          if (ends === 'all' || pass === 1) expect(one.fetches, `before pass ${pass}`).toEqual([])
          return { storage: array, ...one }
        })
        holders = traffic.map((one) => one.holders)
        const nodes = movesOf(blocks, owners, NODES, traffic)
        // what each block is to find
        const expected = Array.from({ length: blocks.count }, (_, block) => {
          const ofBoxes = (isRead: (element: number, writes: boolean) => boolean): number[][] =>
            placed.map(({ array }) => {
              const own = touches[array]?.[block] ?? []
              return own.flatMap(({ box, writes }) =>
                elementsOf(box, arrays[array]?.shape ?? []).filter((element) => isRead(element, writes)),
              )
            })
          // what it writes has to be whole afterwards
          const seen = ofBoxes((element, writes) => !isFree || writes || !isWritten(element, pass))
          const versions = seen.map((elements, i) => elements.map((element) => reference[placed[i]?.array ?? 0]?.[element] as number))
          writeBlock(reference, placed, touches, arrays, { block, pass, isFree })
          return { seen, versions, touched: ofBoxes(() => true) }
        })
        const copy = (from: number, to: number, boxes: Moves['ends'], isTouched: (array: number, element: number) => boolean): void => {
          for (const { storage, box } of boxes) {
            for (const element of elementsOf(box, arrays[storage]?.shape ?? [])) {
              const value = memories[from]?.[storage]?.[element] as number
              const target = memories[to]?.[storage] as Float64Array
              expect(isTouched(storage, element), `element ${element} of array ${storage} is moved from ${from} to ${to} for nobody`).toBe(
                true,
              )
              if (!isFree) expect(target[element], `${to} has element ${element} of array ${storage} already`).not.toBe(value)
              target[element] = value
            }
          }
        }
        const touchedBy = (list: readonly number[]) => (array: number, element: number) =>
          list.some((block) => expected[block]?.touched[placed.findIndex((one) => one.array === array)]?.includes(element))
        for (const { storage, fetches } of traffic) {
          for (const { box, from } of fetches) {
            copy(from, 0, [{ storage, box }], (array, element) => {
              // it was left where its first reader is, and others want it too
              const first = expected.findIndex((_, block) => touchedBy([block])(array, element))
              return memories[owners[first] as number]?.[array]?.[element] === memories[from]?.[array]?.[element]
            })
          }
        }
        for (const [node, { starts }] of nodes.entries()) copy(0, node, starts, touchedBy([...owners.keys()]))
        runInSomeOrder(blocks, owners, nodes, draw, {
          run: (block) => {
            const node = owners[block] as number
            for (const [i, { array }] of placed.entries()) {
              const { seen, versions } = expected[block] as (typeof expected)[number]
              const has = seen[i]?.map((element) => memories[node]?.[array]?.[element])
              expect(has, `block ${block} on node ${node}, array ${array}`).toEqual(versions[i])
            }
            writeBlock(memories[node] as Float64Array[], placed, touches, arrays, { block, pass, isFree })
          },
          move: (from, to, boxes, releases) => copy(from, to, boxes, touchedBy(releases)),
        })
        for (const [node, { ends: last }] of nodes.entries()) copy(node, 0, last, () => true)
        for (const { array } of ends === 'all' ? placed : [])
          expect(memories[0]?.[array], `array ${array} after pass ${pass}`).toEqual(reference[array])
      }
    }),
    RUN,
  )
})

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, extent) => size * extent, 1)
}

function blocksOf(
  kind: Case['kind'],
  rows: number,
  columns: number,
): { readonly blocks: BlockSchedule; cellOf(block: number): [number, number] } {
  const space = { kind: 'box', extents: [rows, columns] } as const
  const schedule = kind === 'independent' ? ({ kind: '1d', axis: 0 } as const) : ({ kind, axes: [0, 1] } as const)
  const blocks = cutUnstepped(schedule, space, { order: 'any', partitions: kind === 'independent' ? rows : [rows, columns] })
  return {
    blocks,
    cellOf: (block) => {
      const row = blocks.lanes[block] as number
      if (kind === 'independent') return [row, 0]
      return [row, kind === '2d' ? (row + Math.floor(block / rows)) % columns : block % columns]
    },
  }
}

function writeBlock(
  memory: readonly Float64Array[],
  placed: readonly { readonly array: number }[],
  touches: readonly (readonly (readonly Touch[])[])[],
  arrays: Case['arrays'],
  { block, pass, isFree }: { readonly block: number; readonly pass: number; readonly isFree: boolean },
): void {
  for (const { array } of placed) {
    for (const { box, writes } of touches[array]?.[block] ?? []) {
      if (!writes) continue
      for (const element of elementsOf(box, arrays[array]?.shape ?? []))
        if (!isFree || isWritten(element, pass)) (memory[array] as Float64Array)[element] = pass * 1000 + block
    }
  }
}

/** Whether blocks that are apart write an element in a pass; in the next one they read it. */
function isWritten(element: number, pass: number): boolean {
  return element % 2 === pass % 2
}

/** Blocks and what comes from other nodes, one after another, whatever is possible next. */
function runInSomeOrder(
  { count, successors, successorStart }: BlockSchedule,
  owners: Int32Array,
  nodes: readonly NodeMoves[],
  draw: (count: number) => number,
  { run, move }: { run(block: number): void; move(from: number, to: number, boxes: Moves['ends'], releases: readonly number[]): void },
): void {
  const left = new Int32Array(count)
  const isDone = new Uint8Array(count)
  for (let block = 0; block < count; block++) {
    for (const next of successors.subarray(successorStart[block], successorStart[block + 1]))
      if (owners[next] === owners[block]) left[next]!++
  }
  const takes = nodes.flatMap((moves, to) => moves.takes.map((take) => ({ ...take, to })))
  for (const { releases } of takes) for (const block of releases) left[block]!++
  const waiting = new Set(takes)
  const blocks = new Set(owners.keys())
  while (blocks.size + waiting.size > 0) {
    // where none waits, those of one node that seem to touch the same do not, or would have an order: here they keep that of the plan
    const isFirst = (block: number): boolean =>
      successors.length > 0 || ![...blocks].some((other) => other < block && owners[other] === owners[block])
    const ready = [...blocks].filter((block) => left[block] === 0 && isFirst(block))
    const arriving = [...waiting].filter(({ block }) => isDone[block] === 1)
    expect(ready.length + arriving.length, 'nothing can go on').toBeGreaterThan(0)
    const drawn = draw(ready.length + arriving.length)
    const block = ready[drawn]
    const take = arriving[drawn - ready.length]
    if (block !== undefined) {
      run(block)
      isDone[block] = 1
      blocks.delete(block)
      for (const next of successors.subarray(successorStart[block], successorStart[block + 1]))
        if (owners[next] === owners[block]) left[next]!--
    } else if (take !== undefined) {
      move(owners[take.block] as number, take.to, take.boxes, take.releases)
      waiting.delete(take)
      for (const next of take.releases) left[next]!--
    }
  }
}
