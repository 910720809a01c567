/**
 * What a plan says of its kernel before the first run is what the run finds, dtypes and shapes being known. Here for loops
 * of every schedule; `wasmKernel.prop.ts` asks the same of bodies of every kernel.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { kernelForecast } from '../src/exec/loops/kernelForecast.ts'
import { prepareLoop } from '../src/exec/loops/loopRun.ts'
import { randomLoop } from './arbitraries/loopBody.ts'
import { scheduledLoop } from './arbitraries/scheduledLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { Holding, inputsOf, type Machine, startMachine } from './loopRuns.ts'

const RUN = announcedRun('kernelForecast.prop.ts')

let machine: Machine
beforeAll(() => {
  machine = startMachine([2])
})
afterAll(() => machine.stop())

test('the kernel is forecast as it will be', () => {
  fc.assert(
    fc.property(fc.oneof(scheduledLoop(), randomLoop({ inside: true })), (loop) => {
      const holding = new Holding(machine.arena)
      const { inputs } = inputsOf(loop, { partitions: 2 }, holding)
      const pool = machine.pools.get(2)
      if (pool === undefined) throw new Error('No pool.')
      const prepared = prepareLoop(inputs, { pool, arena: machine.arena })
      try {
        const forecast = kernelForecast({ ...inputs, buffers: new Map() })
        expect(forecast?.kernel).toEqual(prepared.kernel)
        if (forecast !== undefined) expect(forecast.innerLoops).toEqual(prepared.innerLoops)
      } finally {
        prepared.dispose()
        holding.free()
      }
    }),
    RUN,
  )
})
