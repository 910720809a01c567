/** What the analysis of a loop decided, as plain data: `JSON.stringify(loop.plan)` is the machine form of `explain()`. */
import type { Key } from './indexSpace.ts'
import type { Refusal, Span } from './span.ts'

export type ScheduleKind = 'independent' | '1d' | '2d' | 'wavefront' | 'skewed' | 'colored' | 'serial'

/** One entry of a dependence vector: a number where the distance is always the same, else a direction. */
export type Distance = number | '*' | '+' | '-'

export interface Dependence {
  readonly array: string
  readonly kind: 'flow' | 'anti' | 'output'
  readonly from: Span
  readonly to: Span
  /** Lexicographically positive (leading `*` is split), one entry per axis of the iteration space. */
  readonly vector: readonly Distance[]
  /** Two concrete iterations that touch one element, the earlier first. */
  readonly witness?: readonly [Key, Key]
}

export type VariableClass = 'iterated' | 'local' | 'pipelined' | 'served' | 'broadcast' | 'reduction' | 'buffer' | 'constant'

export interface LoopPlan {
  readonly order: 'serial' | 'any'
  readonly schedule: {
    readonly kind: ScheduleKind
    readonly axes: readonly number[]
    readonly blocks: readonly number[]
    readonly reason: string
  }
  readonly rejected: readonly { readonly kind: ScheduleKind; readonly because: readonly (Dependence | Refusal)[]; readonly edit?: string }[]
  readonly dependences: readonly Dependence[]
  readonly variables: readonly { readonly name: string; readonly class: VariableClass; readonly origin: 'env' | 'capture' }[]
  readonly accesses: readonly {
    readonly array: string
    readonly kind: 'read' | 'write' | 'add'
    readonly subscripts: readonly string[]
    readonly span: Span
  }[]
  readonly kernel: { readonly target: 'wasm-simd' | 'wasm' | 'js' | 'as-is'; readonly because?: readonly Refusal[] }
  readonly execution: { readonly where: 'workers' | 'caller'; readonly because: string }
  readonly prefetch: readonly { readonly array: string; readonly slice: string }[]
}
