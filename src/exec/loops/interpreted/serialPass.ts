/** A pass as plain JavaScript runs it, in the serial order of its blocks: what `verify()` compares with. */
import type { Storage } from '../../../core/arrays/storage.ts'
import type { BlockSchedule, IterationSpace } from '../blocks/schedule.ts'
import { visitSerially } from '../blocks/space.ts'
import { bodyError } from '../failure.ts'
import type { LoopInputs } from '../loopInputs.ts'
import { copyStorage, PlainLoop } from './plainRun.ts'

export interface SerialPass {
  readonly inputs: LoopInputs
  readonly space: IterationSpace
  /** The blocks that give the serial order, and the fixed trees of reductions. */
  readonly blocks: BlockSchedule
  /** Storages that the pass writes: it writes copies of them. */
  readonly written: readonly Storage[]
  /** Whether the body captures something: then it is run by its IR, which has the values of the call. */
  readonly captures: boolean
  /** The loop's name in errors. */
  readonly name: string
  /** Iterations after which buffers are flushed; absent where that is at the end alone. */
  readonly roundEnds?: ReadonlySet<number>
}

/** Runs the pass, on copies of what it writes. Throws what the body throws, with the key. */
export function serialPass({ inputs, space, blocks, written, captures, name, roundEnds }: SerialPass, pass: number): PlainLoop {
  const copied = new Set(written)
  const serial = new PlainLoop(inputs, {
    storageOf: (_, storage) => (copied.has(storage) ? copyStorage(storage) : storage),
    laneCount: blocks.laneCount,
    body: captures ? 'ir' : 'original',
    ...(roundEnds === undefined ? {} : { roundEnds }),
  })
  serial.startPass(pass)
  let visited = 0
  visitSerially(space, blocks, (position, key, lane) => {
    try {
      serial.iterate(position, key, lane)
    } catch (error) {
      throw bodyError(name, key, error)
    }
    if (roundEnds !== undefined) serial.flushDue(++visited)
  })
  serial.flush()
  return serial
}
