/**
 * Hash tables from keys to ids in the arena, with loops in WebAssembly; they give the same ids as those of `keyTable.ts`.
 *
 * The tables and the ids returned lie in blocks of a `GroupMemory` and are freed when it ends. Texts are not copied: an entry has the
 * address of its text in a column.
 */

import { Bug, PlanError } from '../../../../core/errors.ts'
import {
  ID_FRAME,
  ID_FRAME_BYTES,
  type IdOptions,
  TEXT_ENTRIES,
  textIdsKernel,
  WORD_ENTRY_BYTES,
  type WordForm,
  wordIdsKernel,
} from '../../../kernels/tables/idKernels.ts'
import type { KernelModule } from '../../../kir/kernelModule.ts'
import { putAddress } from '../../../memory/addressWords.ts'
import type { GroupMemory, Kernel } from '../groupBy/groupMemory.ts'
import type { IdTables } from './keyIds.ts'
import { hashOf, type Piece, type TextIds, type WordIds, type Words } from './keyTable.ts'

/** Tables and ids in this memory; tables begin with room for `expected` different keys. */
export function arenaTables(memory: GroupMemory, expected = 0): IdTables {
  return {
    words: () => wordIds(memory, expected),
    texts: () => textIds(memory, expected),
    ids: (length) => memory.integers(memory.block(4 * length), length),
  }
}

/** Keys between two checks whether the table must grow. */
const STRIDE = 4096

function wordIds(memory: GroupMemory, expected: number): WordIds {
  const table = new ArenaTable(memory, { entryBytes: WORD_ENTRY_BYTES, expected }, (entries, slots, old) => {
    for (let s = 0; s < old.length; s++) {
      const id = old[s] as number // s < length
      if (id > 0) putId(slots, hashOf(entries[2 * id - 2] as number, entries[2 * id - 1] as number), id) // an entry of the table
    }
  })
  return {
    get size() {
      return table.size
    },
    encode(words, out, piece) {
      const form = formOf(words)
      const pair = words.kind === 'pair'
      const a = memory.addressOf(pair ? words.first : valuesOf(words.values))
      const b = pair ? memory.addressOf(words.second) : 0
      table.run({ ...piece, out, a, b }, (options) => [`words ${form}`, () => wordIdsKernel(form, options)])
    },
    addOutside: () => table.addOutside(),
  }
}

function textIds(memory: GroupMemory, expected: number): TextIds {
  const layout = TEXT_ENTRIES[memory.addresses]
  const entryBytes = 2 ** layout.log2Bytes
  const table = new ArenaTable(memory, { entryBytes, expected }, (entries, slots, old) => {
    const [stride, first] = [entryBytes / 4, layout.hash / 4]
    for (let s = 0; s < old.length; s++) {
      const id = old[s] as number // s < length
      if (id > 0) putId(slots, entries[stride * (id - 1) + first] as number, id) // of an entry of the table
    }
  })
  return {
    get size() {
      return table.size
    },
    encode(values, offsets, out, piece) {
      const [first, last] = [offsets[piece.begin] ?? 0, offsets[piece.end] ?? 0]
      // outside the arena: only the bytes of this piece's texts are copied into it
      const a = memory.owns(values) ? values.byteOffset : memory.addressOf(values.subarray(first, last)) - first
      table.run({ ...piece, out, a, b: memory.addressOf(offsets) }, (options) => ['texts', () => textIdsKernel(options, layout)])
    },
    addOutside: () => table.addOutside(),
  }
}

type Values = Parameters<GroupMemory['addressOf']>[0]

function valuesOf(values: unknown): Values {
  if (!ArrayBuffer.isView(values)) throw new Bug('Keys of a column do not lie in a typed array.')
  return values as Values // columns have typed arrays
}

function formOf(words: Words): WordForm {
  switch (words.kind) {
    case 'pair':
    case 'long':
      return words.kind
    case 'float':
      return words.values instanceof Float32Array ? 'f32' : 'f64'
    case 'integer': {
      const bytes = (words.values as Int32Array).BYTES_PER_ELEMENT // columns have typed arrays
      return bytes === 1 ? 'byte' : bytes === 2 ? 'half' : 'word'
    }
  }
}

interface Rows extends Piece {
  readonly out: Int32Array
  /** The addresses of the kernel's two inputs: words, texts' bytes, or the halves of a pair; and texts' offsets. */
  readonly a: number
  readonly b: number
}

/** Inserts the ids of the old slots into new ones. Null's id is in no slot. */
type FillSlots = (entries: Int32Array, slots: Int32Array, old: Int32Array) => void

function putId(slots: Int32Array, hash: number, id: number): void {
  const mask = slots.length - 1
  let place = hash & mask
  while (slots[place] !== 0) place = (place + 1) & mask
  slots[place] = id
}

/** The slots and entries of a hash table, and the frame through which kernels find them. */
class ArenaTable {
  private readonly memory: GroupMemory
  private readonly entryBytes: number
  private readonly expected: number
  private readonly fillSlots: FillSlots
  private readonly frame: number
  private readonly words: Int32Array
  private slots = 0
  private slotCount = 0
  private entries = 0
  private entryCount = 0

  constructor(
    memory: GroupMemory,
    { entryBytes, expected }: { readonly entryBytes: number; readonly expected: number },
    fillSlots: FillSlots,
  ) {
    this.memory = memory
    this.entryBytes = entryBytes
    this.expected = expected
    this.fillSlots = fillSlots
    this.frame = memory.block(ID_FRAME_BYTES)
    this.words = memory.integers(this.frame, ID_FRAME_BYTES / 4)
  }

  get size(): number {
    return this.words[ID_FRAME.size / 4] as number // inside the frame
  }

  addOutside(): number {
    this.makeRoom(1)
    const id = this.size
    this.put('size', id + 1)
    return id
  }

  run({ begin, end, unknown, validity, out, a, b }: Rows, kernelOf: (options: IdOptions) => readonly [string, () => KernelModule]): void {
    if (end <= begin) return
    const { memory } = this
    const options = { adds: unknown === 'add', nullable: validity !== undefined }
    const [name, bytes] = kernelOf(options)
    const kernel: Kernel = memory.kernel(`ids ${name} ${options.adds} ${options.nullable}`, bytes)
    this.place('a', a)
    this.place('b', b)
    this.place('bits', memory.addressOf(validity))
    this.place('out', memory.addressOf(out))
    for (let from = begin; from < end; from += STRIDE) {
      const to = Math.min(from + STRIDE, end)
      this.makeRoom(options.adds ? to - from : 0)
      kernel(this.frame, from, to)
    }
  }

  private place(name: Exclude<keyof typeof ID_FRAME, 'mask' | 'size'>, address: number): void {
    putAddress(this.words, ID_FRAME[name] / 4, address)
  }

  private put(name: 'mask' | 'size', value: number): void {
    this.words[ID_FRAME[name] / 4] = value
  }

  /** Grows the table so that at most half of its slots are full after `more` new keys. */
  private makeRoom(more: number): void {
    const wanted = Math.max(this.size + more, this.expected)
    if (wanted > this.entryCount) this.moveEntries(Math.max(wanted, 2 * this.entryCount))
    if (2 * wanted <= this.slotCount && this.slotCount > 0) return
    let count = Math.max(16, this.slotCount)
    while (count < 2 * wanted) count *= 2
    if (4 * count > 2 ** 31) throw new PlanError('There are more than 2 ** 28 different keys. Group by fewer at once.')
    this.moveSlots(count)
  }

  private moveEntries(count: number): void {
    const { memory, entryBytes, entries: old } = this
    const block = memory.room(count * entryBytes)
    memory.integers(block, (this.size * entryBytes) / 4).set(memory.integers(old, (this.size * entryBytes) / 4))
    memory.release(old)
    this.entries = block
    this.entryCount = count
    this.place('entries', block - entryBytes)
  }

  private moveSlots(count: number): void {
    const { memory, slots: old, size } = this
    const block = memory.block(4 * count)
    const entries = memory.integers(this.entries, (size * this.entryBytes) / 4)
    this.fillSlots(entries, memory.integers(block, count), memory.integers(old, this.slotCount))
    memory.release(old)
    this.slots = block
    this.slotCount = count
    this.place('slots', block)
    this.put('mask', count - 1)
  }
}
