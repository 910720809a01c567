/** A compiled kernel as it is sent to workers. */
export interface SentKernel {
  /** The module's key, by which a worker instantiates each module once. */
  readonly key: string
  readonly module: WebAssembly.Module
  readonly functions: readonly string[]
}

/** A kernel with the contents of its frame. */
export interface BoundKernel extends SentKernel {
  readonly frame: Float64Array
  /** The frame slots that may change from block to block, by output: the addresses of values and, where they may be null, of bitmap and count. */
  readonly outputs: readonly { readonly values: number; readonly validity?: number; readonly counts?: number }[]
  /** The frame slots of the lists that the kernel appends to, and of the number of their entries; absent where it appends to none. */
  readonly lists?: { readonly at: readonly number[]; readonly listed: number }
}

/** The addresses of a selection: a bit a row, and the number of selected rows before each block, and in all. */
export interface Selection {
  readonly bitmap: number
  readonly prefix: number
}

/** Values as doubles: a column at an address, or computed block by block. */
export type Values = { readonly address: number } | { readonly kernel: BoundKernel }
