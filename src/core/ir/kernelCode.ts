/** The texts of compiled kernels and functions that `explain()` prints. */
import type { Span } from '../span.ts'

/** The text of a loop's kernel. */
export interface KernelCode {
  readonly language: 'WebAssembly' | 'JavaScript'
  readonly text: string
}

/** One kernel of several over the columns of a table, in WebAssembly's text form. */
export interface ColumnCode {
  /** The kernel's result in words, as `a bit for each row that is kept`. */
  readonly gives: string
  readonly text: string
}

/** The kernels that a pipeline over a table in memory is compiled to, with `besides`, their needs beyond its columns; or the reason why it is not compiled. */
export type ExplainedColumns =
  | { readonly kernels: readonly ColumnCode[]; readonly besides?: string }
  | { readonly because: string; readonly span?: Span }

/** The way the groups of a `groupBy` are found, and the kernels that make its rows; `rows` is absent where columns are taken as they are. */
export interface ExplainedGroups {
  readonly found: string
  readonly rows?: ExplainedColumns
}

/** The way a function of a plan runs, and why not in a faster one. */
export interface ExplainedFunction {
  /** The operator, as `FilterExec`. */
  readonly step: string
  readonly text: string
  /** Compiled to WebAssembly over columns, or to JavaScript over rows; the user's own, as a copy in the workers, or as it stands on the caller's thread; 'nothing': columns are only handed on. */
  readonly runs: 'WebAssembly' | 'JavaScript' | 'copy' | 'as it stands' | 'nothing'
  readonly because?: string
}
