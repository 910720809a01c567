/**
 * Reads a split into blocks of the arena: decoders write values where the task's result has them, so that nothing is copied there behind
 * them, and kernels can decode pages.
 */
import { FIXED_FORMS, isFixedKind } from '../../core/data/fixedValues.ts'
import { type ColumnType, fieldsOf } from '../../core/data/schema.ts'
import { MemoryError } from '../../core/errors.ts'
import type { Access } from '../../core/ports.ts'
import { READ_BEHIND } from '../kernels/tables/pageKernels.ts'
import type { Arena } from '../memory/arena.ts'
import { ArenaScratch } from '../memory/arenaScratch.ts'
import type { Block } from './block.ts'
import { pageKernels } from './columns/pageValues.ts'
import { type ExecBatch, mapBatch } from './operators/batches.ts'
import type { TaskInput } from './stage.ts'

type SplitInput = Extract<TaskInput, { kind: 'split' }>

/** Splits of fewer rows are read into ordinary memory: their blocks would cost more than a copy. */
const LEAST_ROWS = 2 ** 14
/** A column takes at most one part in so many of what the budget has left. */
const ROOM = 16

/** Whether a split is read into the arena: all of its rows, whose number is known. */
export function isReadInPlace({ split: { rows = 0 }, rows: wanted }: SplitInput): boolean {
  return wanted === undefined && rows >= LEAST_ROWS
}

/** Asks readers for texts as dictionary codes where the task takes them. */
export function dictionariesIn({ coded }: Pick<SplitInput, 'coded'>): Access {
  return coded === undefined ? {} : { dictionaries: coded }
}

/** The blocks of one split that is read into the arena. */
export class SplitInPlace {
  private readonly arena: Arena
  readonly coded?: true
  private readonly types: readonly (ColumnType | undefined)[]
  private readonly rows: number
  private readonly packed: ArenaScratch
  private readonly places = new Map<number, Uint8Array | undefined>()
  private readonly blocks: Block[] = []

  constructor(arena: Arena, { source, split: { rows = 0 }, columns, coded }: SplitInput) {
    this.arena = arena
    if (coded !== undefined) this.coded = coded
    this.rows = rows
    const types = new Map(fieldsOf(source.element).map(({ name, type }) => [name, type]))
    this.types = columns.map((name) => types.get(name))
    this.packed = new ArenaScratch(arena, READ_BEHIND)
  }

  /** What readers are given, so that they decode into the blocks. */
  access(): Access {
    const { arena, packed } = this
    return {
      ...dictionariesIn(this),
      pages: pageKernels(arena, this.blocks),
      packed,
      into: (column, within) => (within === undefined ? this.placeOf(column) : undefined),
    }
  }

  /** The room for values of a column; undefined for types without a fixed width, and where memory is short, as readers have memory of their own then. */
  private placeOf(column: number): Uint8Array | undefined {
    if (!this.places.has(column)) this.places.set(column, this.made(column))
    return this.places.get(column)
  }

  private made(column: number): Uint8Array | undefined {
    const { arena, rows } = this
    const bytes = rows * this.widthOf(this.types[column]?.kind ?? 'null')
    if (bytes === 0) return undefined
    if (bytes * ROOM > arena.budgetBytes - arena.usedBytes) return undefined
    try {
      const offset = arena.reserve(bytes, 'ScanExec')
      this.blocks.push({ offset, bytes })
      return arena.view('u8', offset, bytes) as Uint8Array
    } catch (error) {
      if (error instanceof MemoryError) return undefined
      throw error
    }
  }

  /** The bytes of a value; of texts that come as codes one, and 0 for what has no fixed width. */
  private widthOf(kind: ColumnType['kind']): number {
    if (kind === 'utf8') return this.coded === true ? 1 : 0
    return isFixedKind(kind) ? new FIXED_FORMS[kind].array(0).BYTES_PER_ELEMENT : 0
  }

  /** Frees what was needed for reading, and all blocks that the result does not lie in; returns the others, which are the caller's from now on. */
  kept(result: readonly ExecBatch[]): readonly Block[] {
    this.packed.free()
    const used = this.blocks.filter((block) => isUsed(block, result, this.arena))
    for (const block of this.blocks) if (!used.includes(block)) this.arena.free(block.offset)
    this.blocks.length = 0
    return used
  }
}

function isUsed({ offset, bytes }: Block, result: readonly ExecBatch[], arena: Arena): boolean {
  let isInside = false
  for (const batch of result)
    mapBatch(batch, (buffer) => {
      isInside ||= arena.owns(buffer) && buffer.byteLength > 0 && buffer.byteOffset >= offset && buffer.byteOffset < offset + bytes
      return buffer
    })
  return isInside
}
