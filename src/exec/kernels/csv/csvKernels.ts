/**
 * The kernels over CSV behind the interface of `io`: a memory holds a piece of a file, and kernels read its records and columns.
 *
 * A memory is used by one thread at a time, and reused for later pieces: results lie in it until the next call.
 */
import type { CsvField, CsvKernels, CsvMemory, CsvStaged } from '../../../core/ports.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { moduleBytes } from '../../wasm/wasmEncoder.ts'
import { csvDateKernel, csvTimeKernel } from './csvDateKernel.ts'
import { BOUNDS, EXACT_POWERS, INPUT, MOST_BOUNDS, OFFSETS, PADDING, POWERS, PRESENT, QUOTE, RESULT, TEXTS, VALUES } from './csvLayout.ts'
import { csvNumberKernel, csvPowers } from './csvNumberKernels.ts'
import { csvQuotesKernel, csvRecordsKernel } from './csvRecordsKernel.ts'
import { csvTextKernel, csvTruthKernel } from './csvTextKernels.ts'

const PAGE_BYTES = 65_536
/** The greatest capacity of a memory that is kept for reuse, and the most memories that are kept. */
const KEPT_BYTES = 2 ** 25
const KEPT = 2

type Kernel = 'records' | 'quotes' | CsvField
type Run = (...numbers: readonly number[]) => void

function kernelOf(kernel: Kernel): KernelModule {
  switch (kernel) {
    case 'records':
      return csvRecordsKernel()
    case 'quotes':
      return csvQuotesKernel()
    case 'utf8':
      return csvTextKernel()
    case 'bool':
      return csvTruthKernel()
    case 'date':
      return csvDateKernel()
    case 'timestamp':
      return csvTimeKernel('ms')
    case 'timestamp(us)':
      return csvTimeKernel('us')
    case 'timestamp(ns)':
      return csvTimeKernel('ns')
    default:
      return csvNumberKernel(kernel)
  }
}

const modules = new Map<Kernel, WebAssembly.Module>()
let powers: ReturnType<typeof csvPowers> | undefined

class Memory implements CsvMemory {
  private readonly memory = new WebAssembly.Memory({ initial: Math.ceil((INPUT + PADDING) / PAGE_BYTES) })
  private readonly kernels = new Map<Kernel, Run>()
  bytes: Uint8Array = new Uint8Array(0)
  bounds: Int32Array = new Int32Array(0)
  private words: Int32Array = new Int32Array(0)

  constructor() {
    powers ??= csvPowers()
    new BigUint64Array(this.memory.buffer, POWERS, powers.digits.length).set(powers.digits)
    new Float64Array(this.memory.buffer, EXACT_POWERS, powers.exact.length).set(powers.exact)
  }

  get capacity(): number {
    return this.memory.buffer.byteLength - INPUT - PADDING
  }

  hold(length: number): void {
    const missing = INPUT + length + PADDING - this.memory.buffer.byteLength
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE_BYTES))
    const { buffer } = this.memory
    this.bytes = new Uint8Array(buffer, INPUT, length)
    this.bounds = new Int32Array(buffer, BOUNDS, 2 * MOST_BOUNDS)
    this.words = new Int32Array(buffer, RESULT, 2)
  }

  records({ at, base, width, delimiter }: Parameters<CsvMemory['records']>[0]): { readonly at: number; readonly base: number } {
    this.run('records', at, this.bytes.length, 4 * base, 4 * MOST_BOUNDS, 8 * width, delimiter)
    return { at: this.word(0), base: this.word(1) / 4 }
  }

  oddQuotes(from: number, to: number): boolean {
    const last = to - ((to - from) % 16)
    this.run('quotes', from, last)
    let odd = this.word(0)
    for (let at = last; at < to; at++) odd ^= this.bytes[at] === QUOTE ? 1 : 0
    return odd === 1
  }

  staged(field: CsvField, { place, step, count, base }: Parameters<CsvMemory['staged']>[1]): CsvStaged {
    this.run(field, BOUNDS + 4 * place, 4 * step, count, base)
    const [done, nulls] = [this.word(0), this.word(1)]
    const { buffer } = this.memory
    return {
      done,
      present: nulls === 0 ? undefined : new Uint8Array(buffer, PRESENT, done),
      values: (array) => new array(buffer, VALUES, done),
      offsets: () => new Int32Array(buffer, OFFSETS, done),
      texts: (length) => new Uint8Array(buffer, TEXTS, length),
    }
  }

  private word(index: number): number {
    return this.words[index] as number // there are two
  }

  private run(kernel: Kernel, ...numbers: readonly number[]): void {
    let run = this.kernels.get(kernel)
    if (run === undefined) {
      const module = modules.get(kernel) ?? new WebAssembly.Module(moduleBytes(kernelOf(kernel)))
      modules.set(kernel, module)
      run = new WebAssembly.Instance(module, { k: { memory: this.memory } }).exports.run as Run // its one export
      this.kernels.set(kernel, run)
    }
    run(...numbers)
  }
}

const free: Memory[] = []

export const csvKernels: CsvKernels = {
  mostBounds: MOST_BOUNDS,
  async withMemory<R>(length: number, use: (memory: CsvMemory) => Promise<R>): Promise<R> {
    const memory = free.pop() ?? new Memory()
    try {
      memory.hold(length)
      return await use(memory)
    } finally {
      if (memory.capacity <= KEPT_BYTES && free.length < KEPT) free.push(memory)
    }
  },
}
