/** Measures the cost of links when a gang starts: by empty questions there and back, and by an array that comes back. */
import type { DenseStorage } from '../../core/arrays/storage.ts'
import { GangError } from '../../core/errors.ts'
import { type LinkCost, NOMINAL_COST } from './linkCost.ts'
import type { Members } from './members.ts'
import { bytesOf } from './movement/changes.ts'
import type { NumberedBox } from './movement/moves.ts'
import { shapeOfStorage } from './storageWire.ts'

const ELEMENTS = 2 ** 17
/** The number of measurements, of which the least counts: other load on the machine only adds to it. */
const TRIES = 8
/** The largest factor by which a measurement may differ from the nominal cost, since a machine may be busy just then. */
const MOST_OFF = 4

/** The measured cost, or the nominal one where nobody answers. Takes some tens of milliseconds. */
export async function measuredLinks(members: Members): Promise<LinkCost> {
  const [other] = members.others
  if (other === undefined) return NOMINAL_COST
  const data = new Float64Array(new SharedArrayBuffer(8 * ELEMENTS))
  const storage: DenseStorage = { kind: 'dense', shape: [ELEMENTS], dtype: 'f64', strides: [1], data }
  const number = members.numberOf(storage)
  const leastMs = async (boxes: readonly NumberedBox[]): Promise<number> => {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < TRIES; i++) {
      const run = members.nextQuestion()
      const started = performance.now()
      await members.ask(run, 'fetch', new Map([[other, { run, boxes }]]), undefined, () => undefined)
      least = Math.min(least, performance.now() - started)
    }
    return least
  }
  try {
    members.send(other.rank, 'values', { storage: number, shape: shapeOfStorage(storage) }, [bytesOf(data)])
    const thereAndBackMs = await leastMs([])
    const wholeMs = await leastMs([{ storage: number, box: [0, ELEMENTS] }])
    const { messageMs, msPerByte } = NOMINAL_COST
    return {
      messageMs: near(thereAndBackMs / 2, messageMs),
      msPerByte: near((wholeMs - thereAndBackMs) / data.byteLength, msPerByte),
    }
  } catch (error) {
    if (!(error instanceof GangError)) throw error
    return NOMINAL_COST
  }
}

function near(measured: number, nominal: number): number {
  return Math.min(nominal * MOST_OFF, Math.max(nominal / MOST_OFF, measured))
}
