import { expect, test } from 'vitest'
import { MemoryError } from '../../core/errors.ts'
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import type { KernelLoop } from '../loops/kernelLoop.ts'
import type { LoopInputs } from '../loops/loopInputs.ts'
import type { LoopResources } from '../loops/preparedLoop.ts'
import { SpareLoop } from './spareLoop.ts'

const [INPUTS, IR, RESOURCES] = [{} as LoopInputs, {} as FunctionIr, {} as LoopResources] // only handed on

/** A loop that takes over as it is told, and writes down when it is disposed of. */
function loopNamed(name: string, disposed: string[], { fits = true } = {}): KernelLoop {
  return { takeOver: () => fits, dispose: () => disposed.push(name) } as unknown as KernelLoop
}

test('a spare loop is given away once, and is not disposed of after that', () => {
  const disposed: string[] = []
  const spare = new SpareLoop()
  expect(spare.takenOver(INPUTS, IR, RESOURCES)).toBeUndefined()
  const loop = loopNamed('a', disposed)
  spare.keep(loop)
  expect(spare.takenOver(INPUTS, IR, RESOURCES)).toBe(loop)
  expect(spare.takenOver(INPUTS, IR, RESOURCES)).toBeUndefined()
  spare.drop()
  expect(disposed).toEqual([])
})

test('one that is of other inputs stays, and is disposed of when another comes or it is dropped', () => {
  const disposed: string[] = []
  const spare = new SpareLoop()
  spare.keep(loopNamed('a', disposed, { fits: false }))
  expect(spare.takenOver(INPUTS, IR, RESOURCES)).toBeUndefined()
  spare.keep(loopNamed('b', disposed))
  expect(disposed).toEqual(['a'])
  spare.drop()
  spare.drop()
  expect(disposed).toEqual(['a', 'b'])
})

test('what finds no memory beside a spare loop is done again without it, once', () => {
  const disposed: string[] = []
  const spare = new SpareLoop()
  let tries = 0
  const failing = (most: number) => () => {
    if (++tries <= most) throw new MemoryError('There is none.', { operator: 'loop', bytes: 8 })
    return tries
  }
  expect(() => spare.withRoom(failing(1))).toThrow('There is none.')
  expect(tries).toBe(1)
  spare.keep(loopNamed('a', disposed))
  tries = 0
  expect(spare.withRoom(failing(1))).toBe(2)
  expect(disposed).toEqual(['a'])
  spare.keep(loopNamed('b', disposed))
  tries = 0
  expect(() => spare.withRoom(failing(2))).toThrow('There is none.')
  expect([tries, disposed]).toEqual([2, ['a', 'b']])
  spare.keep(loopNamed('c', disposed))
  expect(() =>
    spare.withRoom(() => {
      throw new RangeError('Something else.')
    }),
  ).toThrow('Something else.')
  expect(disposed).toEqual(['a', 'b'])
})
