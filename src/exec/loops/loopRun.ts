/**
 * Runs loops: cuts the blocks, binds the kernel, has workers (or the caller's thread) run passes, and combines what
 * they added.
 *
 *     prepareLoop ── cut blocks ── plan kernel ── runPass: reset ─ run blocks ─ combine accumulators and private copies
 *                 ├─ no kernel: runPass calls the body as it stands
 *                 └─ parts: runPass runs one after another
 *
 * A prepared loop holds on to the storages it was given: prepare again after an array got another storage (as those a
 * pass reports as `replaced`). Values may change in between.
 */
import { Bug } from '../../core/errors.ts'
import { spaceOf } from './blocks/space.ts'
import { AsIsLoop } from './interpreted/asIsLoop.ts'
import { KernelLoop } from './kernelLoop.ts'
import { whyNoKernel } from './kernelPlan.ts'
import type { LoopInputs } from './loopInputs.ts'
import type { LoopResources, PreparedLoop } from './preparedLoop.ts'
import { ScanLoop } from './scan/scanLoop.ts'
import { prepareParts, SplitLoop } from './splitLoop.ts'

export type { BufferInput, HelperFunction, LoopInputs } from './loopInputs.ts'
export type { LoopResources, PassResult, PreparedLoop, VerifyResult } from './preparedLoop.ts'

/**
 * Readies a loop to run. `previous`, the same loop as prepared before, is used again when nothing but captured values
 * changed (a learning rate compiles and cuts nothing), and disposed of otherwise.
 */
export function prepareLoop(inputs: LoopInputs, resources: LoopResources, previous?: PreparedLoop): PreparedLoop {
  const space = spaceOf(inputs.over)
  const because = whyNoKernel(inputs)
  const { ir, parts, schedule } = inputs.analyzed
  if (because === undefined && parts !== undefined && schedule.kind === 'serial') return prepareSplit(inputs, resources, previous)
  // a gang runs a loop with a scan as the serial loop that it also is
  const scan = resources.gang === undefined ? inputs.analyzed.scan : undefined
  const isSame = previous instanceof KernelLoop && previous instanceof ScanLoop === (scan !== undefined)
  if (because === undefined && ir !== undefined && isSame && previous.takeOver(inputs, ir, resources)) return previous
  previous?.dispose()
  if (because !== undefined) return new AsIsLoop(inputs, space, resources.arena, because)
  if (ir === undefined) throw new Bug('A body without IR was to be compiled.')
  if (scan !== undefined) return new ScanLoop(inputs, ir, scan, { space, resources })
  return resources.gang?.loop(inputs, ir, space, resources) ?? new KernelLoop(inputs, ir, space, resources)
}

/** Each part takes over from the same part of the loop as prepared before, where it can. */
function prepareSplit(inputs: LoopInputs, resources: LoopResources, previous: PreparedLoop | undefined): PreparedLoop {
  const isSame = previous instanceof SplitLoop && previous.parts.length === inputs.analyzed.parts?.loops.length
  if (!isSame) previous?.dispose()
  try {
    const parts = prepareParts(inputs, (part, at) => prepareLoop(part, resources, isSame ? previous.parts[at]?.loop : undefined))
    return new SplitLoop(inputs, spaceOf(inputs.over), parts)
  } catch (error) {
    previous?.dispose()
    throw error
  }
}
