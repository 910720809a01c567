/**
 * What comes from other processes, in any order and before a pass has begun or later, releases the blocks that wait for it, and none
 * other; what is told of failures is the smallest rank.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DenseStorage } from '../src/core/arrays/storage.ts'
import { Edges } from '../src/exec/gang/movement/edges.ts'
import { messagesOf, movesOf } from '../src/exec/gang/movement/moves.ts'
import { cellsOf, firstHolders, precedence, transfersOf } from '../src/exec/gang/movement/transfers.ts'
import { blocksOfLanes, cutUnstepped } from '../src/exec/loops/blocks/blockSchedule.ts'
import { BlockGate } from '../src/exec/loops/claims/blockGate.ts'
import { createClaimer, finishBlock, takeReady } from '../src/exec/loops/claims/claim.ts'
import { claimWords, NO_FAILURE, startWords } from '../src/exec/loops/claims/claimWords.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('edges.prop.ts')

const cases = fc.record({
  kind: fc.constantFrom('2d' as const, 'wavefront' as const),
  extents: fc.tuple(fc.integer({ min: 2, max: 24 }), fc.integer({ min: 2, max: 24 })),
  // of sixteen blocks in a row and more several go together
  partitions: fc.oneof(fc.integer({ min: 2, max: 6 }), fc.integer({ min: 16, max: 20 })),
  rank: fc.constantFrom(0, 1),
  /** In which order they come. */
  order: fc.infiniteStream(fc.nat()),
  early: fc.nat(20),
  failures: fc.array(fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined, freq: 3 }), { minLength: 1, maxLength: 10 }),
})

test('blocks run when all that they wait for has come, whenever it comes, and tell of the first failure', () => {
  fc.assert(
    fc.property(cases, ({ kind, extents, partitions, rank, order, early, failures }) => {
      const whole = cutUnstepped({ kind, axes: [0, 1] }, { kind: 'box', extents }, { order: kind === '2d' ? 'any' : 'serial', partitions })
      if (whole.laneCount < 2) return
      const half = whole.laneCount >> 1
      const owners = Int32Array.from(whole.lanes, (lane) => (lane < half ? 0 : 1))
      const moves = movesOf(whole, owners, 2, [])[rank] as ReturnType<typeof movesOf>[number] // of two
      const { blocks, numbers } = rank === 0 ? blocksOfLanes(whole, 0, half) : blocksOfLanes(whole, half, whole.laneCount)
      const [failure, start] = [BigInt64Array.of(NO_FAILURE), startWords(blocks, 1)]
      const claims = { words: new Int32Array(claimWords(blocks.count, 1)), failure, start, homes: 1, took: new Float64Array(blocks.count) }
      const depthOf = new Map(moves.sends.map(({ block, depth }) => [block, depth]))
      /** Blocks in the order in which they were told of, each with the failure that it was told with. */
      const told: (readonly [number, number | undefined])[] = []
      let sent = 0
      const world: ConstructorParameters<typeof Edges>[3] = {
        storageOf: () => expect.unreachable('Nothing is moved.'),
        putRows: () => expect.unreachable('Nothing is served.'),
        read: () => undefined,
        send: (_, { blocks: done, failed }) => {
          for (const [block] of done) told.push([block, failed])
          expect(new Set(done.map(([block]) => depthOf.get(block))).size).toBe(1)
          expect(done.length).toBeLessThanOrEqual(moves.together[0]?.[1] ?? 1)
          sent++
        },
      }
      const edges = new Edges(1, moves, numbers, world)
      const waits = edges.waits.slice()
      const gate = new BlockGate({ blocks, work: { schedule: blocks, claimed: blocks }, claims, numbers }, edges)

      const expected: (readonly [number, number | undefined])[] = []
      const came = new Set<number>()
      let smallest: number | undefined
      const left = [...moves.takes]
      const take = (): boolean => {
        const [next] = left.splice((order.next().value as number) % Math.max(1, left.length), 1)
        if (next === undefined) return false
        const failed = failures[came.size % failures.length]
        came.add(next.block)
        // several at once, some of the time
        const more = left.splice(0, (order.next().value as number) % 3)
        for (const { block } of more) came.add(block)
        const done = [next, ...more].map(({ block }) => [block, 0] as const)
        edges.take({ head: { run: 1, blocks: done, ...(failed === undefined ? {} : { failed }) }, parts: [] })
        if (failed !== undefined) smallest = Math.min(failed, smallest ?? failed)
        return true
      }
      while (came.size < early && take());
      gate.open()
      const [claimer, ran] = [createClaimer(0), new Set<number>()]
      do {
        for (let place = takeReady(claims, claimer); place >= 0; place = takeReady(claims, claimer)) {
          const block = numbers[place] as number
          for (let before = 0; before < block; before++) {
            const isWaitedFor = whole.successors.slice(whole.successorStart[before], whole.successorStart[before + 1]).includes(block)
            if (isWaitedFor) expect(owners[before] === rank ? ran.has(before) : came.has(before), `${block} after ${before}`).toBe(true)
          }
          ran.add(block)
          for (const { block: sent } of moves.sends) if (sent === block) expected.push([block, smallest])
          gate.finished(place)
          // a failure holds nothing back, nor is the last of a depth held back
          const isSent = moves.sends.some(({ block: sent }) => sent === block)
          const depths = new Set(moves.sends.flatMap((send) => (ran.has(send.block) ? [] : send.depth)))
          if (isSent && (smallest !== undefined || depths.size === 0)) expect(edges.holds).toBe(false)
          if (isSent && !depths.has(depthOf.get(block) as number)) expect(told.some(([one]) => one === block)).toBe(true)
          finishBlock(claims, blocks, place, claimer)
        }
      } while (take())
      expect(ran.size).toBe(blocks.count)
      gate.end()
      for (const depth of new Set(depthOf.values())) {
        const ofDepth = ([block]: readonly [number, unknown]): boolean => depthOf.get(block) === depth
        expect(told.filter(ofDepth).map(([block]) => block)).toEqual(expected.filter(ofDepth).map(([block]) => block))
      }
      // what was held back is told with a failure that came later
      const failedOf = new Map(expected)
      for (const [block, failed] of told) expect(failed ?? 1e9).toBeLessThanOrEqual(failedOf.get(block) ?? 1e9)
      expect(sent).toBeLessThanOrEqual(moves.sends.length)
      // the next pass waits for as much
      expect(new Edges(2, moves, numbers, world).waits).toEqual(waits)
      if (smallest === undefined) expect(sent).toBe(messagesOf(moves))
      // in a round there are blocks of a depth, and what they leave is sent before the next one
      const round = new Edges(3, moves, numbers, world)
      const ofRound = new BlockGate({ blocks, work: { schedule: blocks, claimed: blocks }, claims, numbers }, round)
      ofRound.open()
      for (let i = (order.next().value as number) % Math.ceil(blocks.count / 4); i >= 0; i--) {
        const place = takeReady(claims, claimer)
        if (place < 0) break
        ofRound.finished(place)
        finishBlock(claims, blocks, place, claimer)
      }
      ofRound.end()
      expect(round.holds).toBe(false)
    }),
    RUN,
  )
})

test('threads of their own run blocks that wait for nothing first, never wait in a circle, and find what others left, be it sent together', () => {
  fc.assert(
    fc.property(cases, fc.integer({ min: 1, max: 4 }), fc.boolean(), ({ kind, extents, partitions, order }, world, isTiled) => {
      const whole = cutUnstepped({ kind, axes: [0, 1] }, { kind: 'box', extents }, { order: kind === '2d' ? 'any' : 'serial', partitions })
      const nodeOf = (lane: number): number => Math.floor((lane * world) / whole.laneCount)
      const owners = Int32Array.from(whole.lanes, nodeOf)
      // each column has an element that its blocks change, one after another
      const cellOf = (block: number): number => whole.boxes?.[4 * block + 2] ?? 0
      const touches = Array.from(owners, (_, block) => [{ box: [cellOf(block), cellOf(block) + 1], writes: true }])
      const cells = cellsOf(touches)
      if ('because' in cells) return expect.unreachable(cells.because)
      const blockOrder = { owners, isFree: false, precedes: precedence(whole.count, whole) }
      const everybody = Array.from({ length: world }, () => true)
      const traffic = transfersOf(cells, blockOrder, firstHolders(cells.count, everybody))
      if ('because' in traffic) return expect.unreachable(traffic.because)
      const nodes = movesOf(whole, owners, world, [{ storage: 0, transfers: traffic.transfers }])
      const change = (columns: Float64Array, block: number): void => {
        columns[cellOf(block)] = ((columns[cellOf(block)] as number) * 31 + block) % 1_000_003
      }
      const expected = new Float64Array(extents[1])
      for (let block = 0; block < whole.count; block++) change(expected, block)
      const done = new Set<number>()
      const processes = nodes.map((moves, node) => {
        const first = owners.indexOf(node)
        if (first < 0) return undefined
        const lanes = Array.from({ length: whole.laneCount }, (_, lane) => lane).filter((lane) => nodeOf(lane) === node)
        const { blocks, numbers } = blocksOfLanes(whole, lanes[0] as number, (lanes.at(-1) as number) + 1)
        const claims = {
          ...{ words: new Int32Array(claimWords(blocks.count, 1)), failure: BigInt64Array.of(NO_FAILURE), start: startWords(blocks, 1) },
          ...{ homes: 1, took: new Float64Array(blocks.count) },
        }
        const columns = new Float64Array(extents[1])
        const storage: DenseStorage = { kind: 'dense', shape: [extents[1]], dtype: 'f64', strides: [1], data: columns }
        const edges: Edges = new Edges(1, moves, numbers, {
          storageOf: () => storage,
          putRows: () => expect.unreachable('Nothing is served.'),
          read: (parts) => {
            for (const part of parts) part.fill(0xa5) // nobody reads it again
          },
          send: (to, head, parts) => onTheirWay.push(() => processes[to]?.edges.take({ head, parts })),
        })
        const gate = new BlockGate({ blocks, work: { schedule: blocks, claimed: blocks }, claims, numbers }, edges)
        gate.open()
        const plan = gate.orderOf(isTiled) ?? blocks.from.map((_, place) => place)
        expect([...plan].sort((a, b) => a - b)).toEqual(Array.from(numbers.keys()))
        // as long as nothing has come there is nothing that could run and comes later
        const free = new Set<number>()
        for (const [place, number] of numbers.entries()) {
          const waits = moves.takes.some(({ releases }) => releases.includes(number))
          const before = Array.from(numbers.keys()).filter((one) =>
            blocks.successors.slice(blocks.successorStart[one], blocks.successorStart[one + 1]).includes(place),
          )
          if (!waits && before.every((one) => free.has(one))) free.add(place)
        }
        expect(new Set([...plan].slice(0, free.size))).toEqual(free)
        return { edges, gate, plan, numbers, columns, at: 0 }
      })
      const onTheirWay: (() => void)[] = []
      for (let isStuck = false; !isStuck; ) {
        isStuck = true
        for (const one of processes) {
          // it goes on until it has to wait
          for (; one !== undefined && one.at < one.plan.length && one.edges.waits[one.plan[one.at] as number] === 0; one.at++) {
            const place = one.plan[one.at] as number
            const number = one.numbers[place] as number
            for (let before = 0; before < number; before++) {
              const isWaitedFor = whole.successors.slice(whole.successorStart[before], whole.successorStart[before + 1]).includes(number)
              if (isWaitedFor) expect(done.has(before), `${number} after ${before}`).toBe(true)
            }
            done.add(number)
            change(one.columns, number)
            one.gate.finished(place)
            isStuck = false
          }
          const next = one?.plan[one.at]
          if (next === undefined) one?.gate.end()
          else {
            void one?.gate.ready(next)
            if ((one?.edges.waits[next] ?? 0) > 0) expect(one?.edges.holds).toBe(false)
          }
          // some of what was sent arrives
          for (const arrive of onTheirWay.splice(0, 1 + ((order.next().value as number) % 3))) {
            arrive()
            isStuck = false
          }
        }
        if (onTheirWay.length > 0) isStuck = false
      }
      for (const one of processes) expect(one?.at).toBe(one?.plan.length)
      for (let block = 0; block < whole.count; block++) {
        const isLast = !owners.some((_, later) => later > block && cellOf(later) === cellOf(block))
        if (isLast) expect(processes[owners[block] as number]?.columns[cellOf(block)]).toBe(expected[cellOf(block)])
      }
    }),
    RUN,
  )
})
