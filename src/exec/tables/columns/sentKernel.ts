/** A compiled kernel as it travels. */
export interface SentKernel {
  /** Tells modules apart, so that a worker instantiates each once. */
  readonly key: string
  readonly module: WebAssembly.Module
  readonly functions: readonly string[]
}

/** A kernel with what its frame holds. */
export interface BoundKernel extends SentKernel {
  readonly frame: Float64Array
  /** Slots of addresses that may change from block to block, by output: of values, and where there may be nulls of their bitmap and count. */
  readonly outputs: readonly { readonly values: number; readonly validity?: number; readonly counts?: number }[]
}

/** Rows kept: a bit a row, and how many were kept before each block, and in all. Addresses. */
export interface Selection {
  readonly bitmap: number
  readonly prefix: number
}

/** Doubles: those of a column at an address, or computed block by block. */
export type Values = { readonly address: number } | { readonly kernel: BoundKernel }
