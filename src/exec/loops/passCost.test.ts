import { expect, test } from 'vitest'
import { cutBlocks } from './blocks/cutBlocks.ts'
import { afterPass, balanceOf, busiestShare, chooseWhere, type LastPass, predictedMs } from './passCost.ts'

const box = { kind: 'box', extents: [3, 3] } as const
const rotation = cutBlocks({ kind: '2d', axes: [0, 1] }, box, { order: 'any', partitions: 3 })
const wavefront = cutBlocks({ kind: 'wavefront', axes: [0, 1] }, box, { order: 'serial', partitions: 3 })

test('blocks of a step are shared out', () => {
  expect(busiestShare(rotation, 1)).toBe(1)
  expect(busiestShare(rotation, 2)).toBeCloseTo(4.5 / 9) // blocks of a step are taken as they come: 1.5 each at best
  expect(busiestShare(rotation, 3)).toBeCloseTo(3 / 9)
  expect(busiestShare(rotation, 8)).toBeCloseTo(3 / 9)
})

test('a wavefront begins and ends alone', () => {
  expect(busiestShare(wavefront, 2)).toBeCloseTo((1 + 1 + 1.5 + 1 + 1) / 9)
  expect(busiestShare(wavefront, 8)).toBeCloseTo(5 / 9)
})

test('one large block holds up the others of its step', () => {
  const sparse = {
    kind: 'sparse',
    extents: [4],
    keys: [Int32Array.of(0, 1, 2, 3, 3, 3, 3, 3)],
    length: 8,
  } as const
  const blocks = cutBlocks({ kind: '1d', axis: 0 }, sparse, { order: 'serial', partitions: 4, balance: 'equal' })
  expect(busiestShare(blocks, 4)).toBeCloseTo(5 / 8)
})

test('outer axes that run in order have steps of their own for each index', () => {
  const schedule = { kind: 'stepped', outer: 1, inner: { kind: 'wavefront', axes: [1, 2] } } as const
  const blocks = cutBlocks(schedule, { kind: 'box', extents: [5, 3, 3] }, { order: 'serial', partitions: 3 })
  expect(blocks.steps?.blocks).toBe(9)
  expect(busiestShare(blocks, 2)).toBeCloseTo(5.5 / 9)
})

test('a pass on one thread costs neither claims nor waking', () => {
  expect(predictedMs(10, rotation, 1)).toBe(10)
  expect(predictedMs(10, rotation, 2)).toBeGreaterThan(5)
})

test('balance is the busiest worker by the mean', () => {
  expect(balanceOf([2, 2])).toBe(1)
  expect(balanceOf([4, 0])).toBe(2)
  expect(balanceOf([0, 0])).toBe(1)
})

test('where passes run follows from what the last one took', () => {
  const times = { blocks: rotation, workers: 2, isWarm: true, estimatedMs: 0.1 }
  const first = chooseWhere(times, undefined)
  expect(first.where).toBe('caller')
  expect(chooseWhere({ ...times, estimatedMs: 2 }, undefined)).toEqual({
    where: 'workers',
    because: 'A pass takes about 2 ms on one thread.',
  })
  // threads would have to be started, and serial blocks have nothing to run beside them
  expect(chooseWhere({ ...times, estimatedMs: 2, isWarm: false }, undefined).because).toBe(
    'A pass of 9 iterations takes about 2 ms, not worth starting threads.',
  )
  const chain = cutBlocks({ kind: 'wavefront', axes: [0, 1] }, box, { order: 'serial', partitions: [3, 1] })
  expect(chooseWhere({ ...times, blocks: chain, estimatedMs: 100 }, undefined).where).toBe('caller')
  const after = (passes: readonly (readonly [aloneMs: number, milliseconds: number, where: 'caller' | 'workers'])[], isWarm = true) => {
    let last: LastPass | undefined
    for (const [aloneMs, milliseconds, where] of passes) last = afterPass(last, { aloneMs, milliseconds, where })
    return chooseWhere({ ...times, isWarm, last: last as LastPass }, { where: last?.where ?? 'caller', because: 'as it was' })
  }
  const caller = [2, 2, 'caller'] as const
  expect(after([caller, caller])).toEqual({ where: 'workers', because: 'A pass took 2 ms on one thread.' })
  expect(after([caller, caller], false)).toEqual({ where: 'caller', because: 'as it was' }) // threads would have to be started
  expect(after([[0.5, 0.5, 'caller']])).toEqual({ where: 'caller', because: 'as it was' })
  expect(after([caller, [2, 1.2, 'workers']])).toEqual({ where: 'workers', because: 'as it was' })
  // one that is no faster may have been held up; two are not, though each thread had less to do
  const slow = [3.5, 3, 'workers'] as const
  expect(after([caller, slow, [2, 1.2, 'workers'], slow]).where).toBe('workers')
  expect(after([caller, slow, slow])).toEqual({
    where: 'caller',
    because: 'A pass took 3 ms on 2 workers, and 2 ms on one thread.',
  })
  expect(
    after([
      [2, 3, 'workers'],
      [2, 3, 'workers'],
    ]).because,
  ).toBe('A pass took 3 ms on 2 workers, which did 2 ms of work.')
  // then they are tried again when as much time has gone by as they take to start
  const lost = [caller, [2, 3, 'workers'], [2, 3, 'workers']] as const
  expect(after([...lost, caller, caller]).where).toBe('caller')
  expect(after([...lost, ...new Array<typeof caller>(21).fill(caller)]).where).toBe('workers')
})

test('threads start for short passes when these took as long as starting does', () => {
  const after = (spentMs: number, aloneMs: number) => {
    const last = { aloneMs, milliseconds: aloneMs, where: 'caller', beforeMs: aloneMs, spentMs } as const
    return chooseWhere({ blocks: rotation, workers: 2, isWarm: false, estimatedMs: 0.1, last }, { where: 'caller', because: 'as it was' })
      .where
  }
  expect(after(30, 2)).toBe('caller')
  expect(after(50, 2)).toBe('workers')
  expect(after(500, 0.5)).toBe('caller') // not worth waking them
})

test('one pass that was held up does not start threads', () => {
  const afterPasses = (...passes: readonly number[]) => {
    const [beforeMs, aloneMs] = passes.length === 1 ? [undefined, passes[0] as number] : [passes[0], passes[1] as number]
    const last = { aloneMs, milliseconds: aloneMs, where: 'caller', beforeMs } as const
    return chooseWhere({ blocks: rotation, workers: 2, isWarm: false, estimatedMs: 0.1, last }, { where: 'caller', because: 'as it was' })
      .where
  }
  expect(afterPasses(8)).toBe('caller') // 0.1 ms were expected
  expect(afterPasses(0.1, 8)).toBe('caller')
  expect(afterPasses(8, 0.1)).toBe('caller')
  expect(afterPasses(8, 8)).toBe('workers')
  expect(afterPasses(30)).toBe('workers') // no garbage takes so long
  expect(afterPasses(0.1, 30)).toBe('workers')
})
