/**
 * The definition of a loop that other processes are sent: its analysis with the IR, and the numbers of the storages that its names stand
 * for. None of the program's code goes along but functions that were printed as source.
 */
import { deserialize, serialize } from 'node:v8'
import type { DenseStorage, Storage } from '../../core/arrays/storage.ts'
import { defined } from '../../core/defined.ts'
import { Bug, GangError } from '../../core/errors.ts'
import { type PortableFunction, visitStmts } from '../../core/ir/functionIr.ts'
import { copyOf } from '../../core/ir/portableCopy.ts'
import { isError } from '../../core/isError.ts'
import type { AnalyzedLoop } from '../../core/loop/loopSpec.ts'
import type { BlockSchedule } from '../loops/blocks/schedule.ts'
import type { AccumulatorInput, ArrayInput, BufferInput, HelperFunction, LoopInputs } from '../loops/loopInputs.ts'
import type { Rounds } from '../loops/reductions/lateUpdates.ts'
import type { UsedElements } from './heldElements.ts'

interface SentArray {
  readonly storage: number
  readonly array: number
  readonly label: string
  readonly isBoolean?: boolean
}

interface SentBuffer extends SentArray {
  readonly combine: 'sum' | PortableFunction
  /** The function that brings updates in; `home` where it was not sent and runs in the program's process alone. */
  readonly apply?: PortableFunction | 'home'
  readonly rounds?: Rounds
}

export interface LoopDefinition {
  readonly id: string
  readonly analyzed: AnalyzedLoop
  readonly over:
    | { readonly kind: 'range'; readonly extents: readonly number[] }
    | { readonly kind: 'storage'; readonly storage: number; readonly array: number }
    // the receiver has the elements of its own blocks; the others are empty
    | { readonly kind: 'elements'; readonly elements: number; readonly array: number; readonly blocks: BlockSchedule }
  readonly arrays: readonly (readonly [string, SentArray])[]
  readonly buffers: readonly (readonly [string, SentBuffer])[]
  readonly accumulators: readonly (readonly [string, AccumulatorInput | 'custom'])[]
  readonly rngs: readonly (readonly [string, number])[]
  /** The number of blocks that the loop has in every process; `from` up to `to` are the lanes whose blocks the receiver runs. */
  readonly count: number
  readonly from: number
  readonly to: number
  /** Arrays whose changes are found by comparing them with a copy from before the pass. */
  readonly compared: readonly number[]
  /** Whether blocks may wait for elements that come while others run. */
  readonly isLoaded?: boolean
  /** The rows of the first axis that the receiver's blocks touch, for arrays of which it needs only these. */
  readonly rows: readonly TouchedRows[]
}

export interface TouchedRows {
  readonly storage: number
  readonly from: number
  readonly to: number
  /** Whether all that the receiver has of the array is out of date when it is told. */
  readonly isFresh?: boolean
}

/** The reason why a loop's schedule or helpers keep it in this process; undefined if they do not. */
export function whyNotDefined({ buffers, analyzed }: LoopInputs): string | undefined {
  for (const { combine, label } of buffers.values()) {
    if (combine !== 'sum' && combine.portable === undefined) return `The combine function of ${label} cannot be sent to another process.`
  }
  return analyzed.schedule.kind === 'colored' ? 'The inspector has found its order here.' : undefined
}

export function definitionOf(
  id: string,
  inputs: LoopInputs,
  numberOf: (storage: Storage) => number,
  own: Pick<LoopDefinition, 'count' | 'from' | 'to' | 'compared' | 'rows' | 'isLoaded'>,
  elements?: { readonly number: number; readonly blocks: BlockSchedule },
): LoopDefinition {
  const sent = ({ storage, array, label }: ArrayInput | BufferInput): SentArray => ({ storage: numberOf(storage), array, label })
  return {
    id,
    analyzed: plainLoop(inputs.analyzed),
    over: overOf(inputs, numberOf, elements),
    arrays: [...inputs.arrays].map(([name, input]) => [name, { ...sent(input), ...(input.isBoolean === true ? { isBoolean: true } : {}) }]),
    buffers: [...inputs.buffers].map(([name, input]) => {
      const combine = input.combine === 'sum' ? input.combine : (input.combine.portable as PortableFunction) // as whyNotDefined has seen
      const apply = input.apply && (closedOf(input.apply) ?? 'home')
      return [name, { ...sent(input), combine, ...defined({ apply, rounds: input.rounds }) }]
    }),
    accumulators: [...inputs.accumulators].map(([name, input]) => [name, typeof input === 'string' ? input : 'custom']),
    rngs: [...inputs.rngs],
    ...own,
  }
}

function overOf(
  { over }: LoopInputs,
  numberOf: (storage: Storage) => number,
  elements: { readonly number: number; readonly blocks: BlockSchedule } | undefined,
): LoopDefinition['over'] {
  if (over.kind === 'range') return over
  const { array } = over
  if (elements !== undefined) return { kind: 'elements', elements: elements.number, array, blocks: elements.blocks }
  return { kind: 'storage', storage: numberOf(over.storage), array }
}

/** The analysis without functions, and without the parts that only explain() prints. */
function plainLoop(analyzed: AnalyzedLoop): AnalyzedLoop {
  const { spec, ir, plan } = analyzed
  const { text, span } = spec.body
  const told = { rejected: [], dependences: [], variables: [], accesses: [], prefetch: [] }
  const { parts: _, slice: __, footprints: ___, served: ____, scan: _____, ...rest } = analyzed
  const own = ir === undefined ? {} : { ir: { ...ir, tables: ir.tables.map((table) => ({ ...table, value: unshared(table.value) })) } }
  const body = { text, span, refusals: [] } as unknown as AnalyzedLoop['spec']['body'] // the receiver puts a function there
  return { ...rest, ...own, spec: { ...spec, env: {}, body }, plan: { ...plan, ...told }, notes: [] }
}

/** Copies a typed array out of shared memory, which belongs to this process alone; returns anything else as it is. */
export function unshared<T>(table: T): T {
  const isShared = ArrayBuffer.isView(table) && table.buffer instanceof SharedArrayBuffer
  return isShared ? ((table as unknown as Uint8Array).slice() as T) : table // slices of typed arrays are ordinary ones
}

/** Serializes a structured value, with NaN, -0, bigints and undefined as they are. All processes have one engine. */
export function toBytes(value: unknown, what: string): Uint8Array {
  try {
    return serialize(value)
  } catch (error) {
    throw new GangError(`${what} cannot be sent to another process: ${isError(error) ? error.message : String(error)}`, 'failed', {
      cause: error,
    })
  }
}

export function fromBytes(bytes: Uint8Array): unknown {
  return deserialize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
}

/** The inputs of a loop in the process that was sent its definition. */
export function inputsFrom(
  { analyzed, over, arrays, buffers, accumulators, rngs }: LoopDefinition,
  {
    storageOf,
    versionOf,
    elementsOf,
  }: {
    readonly storageOf: (number: number) => Storage
    readonly versionOf: (number: number) => string
    readonly elementsOf: (number: number) => Pick<UsedElements, 'storage' | 'positions'>
  },
): LoopInputs {
  const named = <T>(entries: readonly (readonly [string, SentArray & T])[]) =>
    entries.map(([name, one]) => ({ name, one, storage: storageOf(one.storage) }))
  const { body } = analyzed.spec
  const told = (): LoopInputs['over'] => {
    if (over.kind === 'range') return over
    const { kind, array } = over
    if (kind === 'storage') return { kind, storage: storageOf(over.storage), array, version: () => versionOf(over.storage) }
    const { storage, positions } = elementsOf(over.elements)
    return { kind: 'storage', storage, array, placed: { ...over.blocks, ...defined({ order: positions }) } }
  }
  return {
    analyzed: { ...analyzed, spec: { ...analyzed.spec, body: { ...body, original: calledElsewhere } } },
    over: told(),
    arrays: new Map(named(arrays).map(({ name, one, storage }) => [name, { ...one, storage }])),
    buffers: new Map(
      named(buffers).map(({ name, one: { combine, apply, ...one }, storage }) => {
        const helpers = {
          combine: combine === 'sum' ? combine : helperFrom(combine),
          ...(apply === undefined ? {} : { apply: apply === 'home' ? { original: calledElsewhere } : helperFrom(apply) }),
        }
        return [name, { ...one, storage: storage as DenseStorage, ...helpers }]
      }),
    ),
    accumulators: new Map(
      accumulators.map(([name, kind]) => [name, kind === 'custom' ? { init: undefined, combine: { original: calledElsewhere } } : kind]),
    ),
    rngs: new Map(rngs),
    envObject: {},
  }
}

/** The portable form of a function; undefined where it depends on more than its arguments, or may throw. */
function closedOf({ ir, portable }: HelperFunction): PortableFunction | undefined {
  if (ir === undefined || ir.parameters.length > 0 || ir.tables.length > 0) return undefined
  let throws = false
  visitStmts(ir.body, ({ kind }) => {
    throws ||= kind === 'Throw'
  })
  return throws ? undefined : portable
}

function helperFrom(portable: PortableFunction): HelperFunction {
  return { original: copyOf(portable) as HelperFunction['original'], portable }
}

function calledElsewhere(): never {
  throw new Bug('A function of the program was called in a process that does not have it.')
}
