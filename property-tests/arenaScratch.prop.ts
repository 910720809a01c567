/**
 * Memory that is lent for row groups: pieces that are lent at the same time, and what kernels may read behind them, have no byte
 * in common, and none with what others have; all is given back, and with little left the arena is not asked.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ArenaScratch } from '../src/exec/memory/arenaScratch.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('arenaScratch.prop.ts')
const BUDGET = 2 ** 20
const BEHIND = 64

/** Bytes that are asked for, or that all are done with those before. */
const step = fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 0, max: 9000 }) }, { weight: 1, arbitrary: fc.constant('reset' as const) })

test('pieces lent at the same time have no byte in common, and all are given back', () => {
  const counts = { lent: 0, own: 0, oneBlock: 0 }
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.nat(BUDGET - 2 ** 16), (steps, taken) => {
      const arena = lawArena(BUDGET)
      const others = arena.allocate(taken, 'law')
      const before = arena.usedBytes
      const scratch = new ArenaScratch(arena, BEHIND)
      let lent: { readonly from: number; readonly to: number }[] = [{ from: others, to: others + taken }]
      for (const [i, step] of steps.entries()) {
        if (step === 'reset') {
          scratch.reset()
          lent = lent.slice(0, 1)
          continue
        }
        const free = arena.budgetBytes - arena.usedBytes
        const bytes = scratch.bytes(step)
        expect(bytes).toHaveLength(step)
        if (!arena.owns(bytes)) {
          counts.own++
          expect(free, 'memory of its own where the arena has room').toBeLessThan(16 * (step + BEHIND + 8))
          continue
        }
        counts.lent++
        // what is reserved for later is nobody else's either
        const fresh = arena.reserve(64, 'law')
        const [from, to] = [bytes.byteOffset, bytes.byteOffset + step + BEHIND]
        expect(from % 8).toBe(0)
        for (const other of [...lent, { from: fresh, to: fresh + 64 }])
          expect(from >= other.to || to <= other.from, `piece ${i} from ${from} to ${to}, and ${other.from} to ${other.to}`).toBe(true)
        arena.free(fresh)
        lent.push({ from, to })
      }
      // what was lent once is there as one block
      scratch.reset()
      const held = arena.usedBytes
      if (lent.length > 1 && held > before) {
        const total = lent.slice(1).reduce((sum, { from, to }) => sum + Math.ceil((to - from) / 8) * 8, 0)
        for (const { from, to } of lent.slice(1)) expect(arena.owns(scratch.bytes(to - from - BEHIND))).toBe(true)
        expect(arena.usedBytes, `${total} bytes lent again`).toBe(held)
        counts.oneBlock++
      }
      scratch.free()
      expect(arena.usedBytes).toBe(before)
    }),
    run,
  )
  console.log(`lent for row groups: ${JSON.stringify(counts)}`)
  if (run.numRuns >= 500) expect(Math.min(counts.lent, counts.own, counts.oneBlock)).toBeGreaterThan(run.numRuns * 0.1)
})
