/** Kernels as people read them: what `explain()` prints of compiled code. */
import type { Span } from '../span.ts'

/** The kernel of a loop. */
export interface KernelCode {
  readonly language: 'WebAssembly' | 'JavaScript'
  readonly text: string
}

/** One kernel of several over the columns of a table, in WebAssembly's text form. */
export interface ColumnCode {
  /** What it gives, as `a bit for each row that is kept`. */
  readonly gives: string
  readonly text: string
}

/** The kernels that a pipeline over a table in memory is compiled to, and what they need besides its columns; or why it is not. */
export type ExplainedColumns =
  | { readonly kernels: readonly ColumnCode[]; readonly besides?: string }
  | { readonly because: string; readonly span?: Span }

/** How the groups of a `groupBy` are found, and what the rows that are grouped come from; absent where columns are taken as they are. */
export interface ExplainedGroups {
  readonly found: string
  readonly rows?: ExplainedColumns
}

/** How a function of a plan runs, and why not better. */
export interface ExplainedFunction {
  /** The operator, as `FilterExec`. */
  readonly step: string
  readonly text: string
  /** Compiled to WebAssembly over columns, or to JavaScript over rows; or the user's own, as a copy in the workers, or as it stands on the caller's thread. */
  readonly runs: 'WebAssembly' | 'JavaScript' | 'copy' | 'as it stands' | 'nothing'
  readonly because?: string
}
