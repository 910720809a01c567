/**
 * What blocks are said to touch is what their iterations touch: every element that one reads or writes lies in a box of its block, and
 * boxes are no larger than that blocks without an order keep out of each other's way. The reference runs the body an iteration at a
 * time and notes each element; no process is started.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { joinedByOwner, touchesOf } from '../src/exec/gang/movement/touches.ts'
import { cellsOf, firstHolders, precedence, transfersOf } from '../src/exec/gang/movement/transfers.ts'
import { spaceOf, visitSerially } from '../src/exec/loops/blocks/space.ts'
import { prepareLoop } from '../src/exec/loops/loopRun.ts'
import { type RandomLoop, randomLoop } from './arbitraries/loopBody.ts'
import { traceLoop } from './arbitraries/loopTrace.ts'
import { scheduledLoop } from './arbitraries/scheduledLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { Holding, inputsOf, type Machine, startMachine } from './loopRuns.ts'

const RUN = announcedRun('touches.prop.ts', 1000)

let machine: Machine
const seen = new Map<string, number>()
beforeAll(() => {
  machine = startMachine([1])
})
afterAll(async () => {
  await machine.stop()
  for (const kind of ['independent', '1d', '2d', 'wavefront', 'sparse 2d', 'joined']) expect(seen.get(kind) ?? 0, kind).toBeGreaterThan(0)
})

interface Options {
  readonly partitions?: number
  /** Whether the blocks of a process are as one. */
  readonly joins: boolean
}

const options: fc.Arbitrary<Options> = fc
  .tuple(fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }), fc.boolean())
  .map(([partitions, joins]) => ({ ...(partitions === undefined ? {} : { partitions }), joins }))

/** For each block the iterations, as places in the loop's list of them, and what it is said to touch of an array; undefined for what no gang runs. */
function withBlocks(loop: RandomLoop, options: Options, look: (found: ReturnType<typeof lookedAt>) => void): void {
  const holding = new Holding(machine.arena)
  try {
    const found = lookedAt(loop, options, holding)
    if (found !== undefined) look(found)
  } finally {
    holding.free()
  }
}

function lookedAt(loop: RandomLoop, { joins, ...options }: Options, holding: Holding) {
  const { inputs, storages } = inputsOf(loop, options, holding)
  const { kind } = inputs.analyzed.schedule
  if (kind === 'serial' || kind === 'colored' || kind === 'stepped') return undefined
  const pool = machine.pools.get(1) as NonNullable<ReturnType<Machine['pools']['get']>> // started with it
  const prepared = prepareLoop(inputs, { pool, arena: machine.arena })
  const { blocks: each } = prepared
  prepared.dispose()
  const joined =
    joins && (kind === 'independent' || kind === '1d')
      ? joinedByOwner(
          each,
          each.lanes.map((lane) => Math.floor((3 * lane) / each.laneCount)),
        )
      : undefined
  if (joined !== undefined) seen.set('joined', (seen.get('joined') ?? 0) + 1)
  const blocks = joined?.blocks ?? each
  const space = spaceOf(inputs.over)
  const positions: number[] = []
  visitSerially(space, { ...blocks, keyOrder: false }, (position) => positions.push(position))
  let before = 0
  const iterations = Array.from({ length: blocks.count }, (_, block) => {
    const size = (blocks.to[block] as number) - (blocks.from[block] as number)
    before += size
    return positions.slice(before - size, before)
  })
  const touches = loop.arrays.flatMap(({ array }, i) => {
    const storage = storages[i]
    if (storage?.kind !== 'dense' || inputs.analyzed.reducedArrays.includes(array)) return []
    return [{ array, list: touchesOf(inputs, { blocks, space }, { array, storage }) }]
  })
  seen.set(kind, (seen.get(kind) ?? 0) + 1)
  if (space.kind === 'sparse') seen.set(`sparse ${kind}`, (seen.get(`sparse ${kind}`) ?? 0) + 1)
  return { kind, blocks, iterations, touches }
}

test('every element that an iteration touches lies in a box of its block', () => {
  fc.assert(
    fc.property(fc.oneof(scheduledLoop(), randomLoop({ inside: true })), options, (loop, options) => {
      withBlocks(loop, options, (found) => {
        const traces = traceLoop(loop)
        for (const { array, list } of found?.touches ?? []) {
          for (const [block, boxes] of list.entries()) {
            for (const position of found?.iterations[block] ?? []) {
              for (const { array: touched, element, mode } of traces[position] ?? []) {
                if (touched !== array) continue
                const key = element.split(',').map(Number)
                const isIn = boxes.some(
                  ({ box, writes }) =>
                    (writes || mode === 'read') &&
                    key.every((k, axis) => k >= (box[2 * axis] as number) && k < (box[2 * axis + 1] as number)),
                )
                if (!isIn)
                  throw new Error(
                    `Block ${block} is not said to ${mode} element ${element} of array ${array}: ${JSON.stringify(boxes)}\n${loop.source}`,
                  )
              }
            }
          }
        }
      })
    }),
    RUN,
  )
})

test('boxes of blocks that have no order keep out of the way of what others write, so that such loops leave their process', () => {
  fc.assert(
    fc.property(scheduledLoop(), options, (loop, options) => {
      withBlocks(loop, options, (found) => {
        // where no block waits for another, what meets is compared
        if (found === undefined || found.kind === 'independent' || found.kind === '1d') return
        const { kind, blocks, touches } = found
        const owners = Int32Array.from(blocks.lanes, (lane) => lane % 3)
        const order = { owners, isFree: false, precedes: precedence(blocks.count, blocks) }
        for (const { array, list } of touches) {
          const cells = cellsOf(list)
          const found = 'because' in cells ? cells : transfersOf(cells, order, firstHolders(cells.count, [true, false, false]))
          if ('because' in found) throw new Error(`Array ${array} of a ${kind} loop: ${found.because}\n${loop.source}`)
        }
      })
    }),
    RUN,
  )
})
