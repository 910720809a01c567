/** Simulates a prepared loop on machines that need not exist. Loaded only where it is asked for. */
import { PlanError } from '../../core/errors.ts'
import type { Machines, Simulation } from '../../core/loop/simulation.ts'
import { simulate } from '../../exec/gang/simulation/simulate.ts'
import { KernelLoop } from '../../exec/loops/kernelLoop.ts'
import type { PreparedLoop } from '../../exec/loops/loopRun.ts'
import { SplitLoop } from '../../exec/loops/splitLoop.ts'

/** Predicts a pass on the machines. `stays`: elements that a pass writes may stay in the process that wrote them. */
export function simulatedLoop(loop: PreparedLoop, machines: Machines, { stays }: { readonly stays: boolean }): Simulation {
  if (loop instanceof SplitLoop)
    return simulate(
      loop.parts.map((part) => kernelOf(part.loop).simulated),
      machines,
      { stays: false },
    )
  const kernel = kernelOf(loop)
  return simulate([kernel.simulated], machines, { stays: stays && kernel.canRunAgain })
}

function kernelOf(loop: PreparedLoop): KernelLoop {
  if (loop instanceof KernelLoop) return loop
  throw new PlanError(
    'simulate() knows nothing of a body that runs as it stands: it runs on one thread of one process, as long as it takes. explain() says why it was not compiled.',
  )
}
