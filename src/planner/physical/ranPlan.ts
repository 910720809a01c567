/**
 * Prints a plan that has run, with the measures of each of its nodes.
 *
 *     HashAggregateExec a = sum: 29,998 -> 9 rows, 1.2 ms, 144 bytes; WebAssembly in workers
 *       EvaluateExec [r => r.s, r => r.a]: 29,998 -> 29,998 rows, 0.8 ms, 469 KiB; SIMD over columns
 *         FilterExec r => r.a > 1: 30,000 -> 29,998 rows
 *           ScanExec rows.parquet [a, s]: 30,000 rows, 3 of 3 row groups, 3.2 ms, 527 KiB; read whole into the arena
 *
 * The executor makes it as it runs, of the nodes that it runs; a pipeline's measures stand at its last step. Milliseconds
 * are a node's own: what was waited for its result, without what was waited for those of its inputs.
 */
import { bytesText } from '../../core/bytesText.ts'
import { fallbackOf } from '../../core/ir/functionUse.ts'
import { functionsOfStep } from './functionsOfStep.ts'
import type { PhysicalPlan, Step } from './physicalPlan.ts'
import { fetchText, leafText, lookupText, offsetText, stepText, wideText } from './stages.ts'

/** The way in which a node's result was computed. */
export type Ran =
  /** Kernels over columns, several rows at a time. */
  | 'SIMD over columns'
  | 'SIMD over columns, time zones a row at a time in JavaScript'
  | 'SIMD over columns, rows without a match dropped by the keys of the other side'
  /** One pass over the columns selects, computes and groups. */
  | 'SIMD over columns, groups in the same pass'
  /** A variance needs the mean first, and so two passes. */
  | 'SIMD over columns, groups in two such passes'
  | 'WebAssembly in workers'
  | 'JavaScript in workers'
  | "JavaScript on the caller's thread"
  | 'read whole into the arena'
  | 'read whole into the arena, once for several scans'
  /** There is no room for all of its columns: those of a range of its splits at a time. */
  | 'read into the arena, a range at a time'
  | 'read in workers'
  | 'read in workers for these rows alone'
  /** The tasks of the pipeline above read the source. */
  | 'read as it is needed'
  | 'columns handed on as they are'
  /** JavaScript computes it once per dictionary entry, or day, where it depends on a column of few different texts or dates alone. */
  | 'once for each value of a column'
  /** A semi-join runs in the pass over its left side. */
  | 'with the rows that its keys keep'
  /** The node runs together with the one above it. */
  | 'with the operator above'

/** Measures of one node. */
export interface Measures {
  /** Rows that went into each step of a pipeline, first to last; undefined where they were not counted. */
  readonly rowsIn?: readonly (number | undefined)[]
  readonly rows?: number
  /** Bytes of the result's columns. */
  readonly bytes?: number
  /** Time waited for the result, without the time waited for those of its inputs. */
  readonly milliseconds?: number
  /** Bytes that were written to disk, since memory did not hold them. */
  readonly spilled?: number
  readonly ran?: Ran
  /** The reason why it did not run in a better way. */
  readonly because?: string
  /** Pieces of the source (`of`: what they are), of which the others were skipped by their statistics. */
  readonly pieces?: Pieces
}

export interface Pieces {
  readonly of: string
  readonly read: number
  readonly all: number
  /** The rows of the pieces that are read, where pages of them are skipped. */
  readonly rows?: { readonly read: number; readonly all: number }
}

export interface RanPlan {
  readonly plan: PhysicalPlan
  readonly measures: Measures
  readonly inputs: readonly RanPlan[]
}

/** The machine form of a line of the text. */
export interface RanNode {
  readonly operator: string
  readonly rowsIn?: number
  readonly rows?: number
  readonly milliseconds?: number
  readonly bytes?: number
  readonly spilled?: number
  readonly ran?: string
  readonly because?: string
  readonly pieces?: Measures['pieces']
  readonly inputs: readonly RanNode[]
}

/** Returns a node for each operator, step and source, the last to run at the root. */
export function ranNode({ plan, measures, inputs }: RanPlan): RanNode {
  const below = inputs.map(ranNode)
  if (plan.kind === 'PipelineExec') return pipelineNode(plan.steps, measures, below)
  const { rowsIn: _, ...own } = measures
  const rowsIn = below.length > 0 && below.every(({ rows }) => rows !== undefined) ? { rowsIn: sumOf(below) } : {}
  return { operator: operatorText(plan), ...rowsIn, ...own, inputs: below }
}

function sumOf(nodes: readonly RanNode[]): number {
  return nodes.reduce((sum, { rows = 0 }) => sum + rows, 0)
}

function pipelineNode(steps: readonly Step[], { rowsIn = [], rows, ...measures }: Measures, below: readonly RanNode[]): RanNode {
  const isMixed = steps.some((step) => 'ran' in ownWay(step))
  const because = isMixed && measures.because !== undefined ? { because: 'another function of its stage is not compiled' } : {}
  let inputs = below
  for (const [i, step] of steps.entries()) {
    const isLast = i === steps.length - 1
    const [before, after] = [rowsIn[i], isLast ? rows : rowsIn[i + 1]]
    inputs = [
      {
        operator: stepText(step),
        ...(before === undefined ? {} : { rowsIn: before }),
        ...(after === undefined ? {} : { rows: after }),
        ...(isLast ? { ...measures, ...because } : {}),
        ...(measures.ran === undefined ? {} : ownWay(step)),
        inputs,
      },
    ]
  }
  return inputs[0] as RanNode // a pipeline has at least one step
}

/** Returns how a step with a function that is not compiled runs, and why; nothing for other steps. */
function ownWay(step: Step): Pick<RanNode, 'ran' | 'because'> {
  const [fallback] = functionsOfStep(step).flatMap((f) => fallbackOf(f) ?? [])
  if (fallback === undefined) return {}
  const ran = fallback.runs === 'workers' ? 'a copy of the function, in workers' : "the function as it stands, on the caller's thread"
  return { ran, because: fallback.reason.message }
}

function operatorText(plan: Exclude<PhysicalPlan, { kind: 'PipelineExec' }>): string {
  switch (plan.kind) {
    case 'ScanExec':
    case 'StoredExec':
      return leafText(plan)
    case 'WideExec':
      return wideText(plan.operator)
    case 'LimitExec':
      return `LimitExec ${plan.count}`
    case 'OffsetExec':
      return offsetText(plan)
    case 'FetchExec':
      return fetchText(plan)
    case 'UnionExec':
      return 'UnionExec'
    case 'IndexBuildExec':
      return 'IndexBuildExec'
    case 'IndexLookupExec':
      return lookupText(plan)
  }
}

/** Prints one line a node, inputs below it. */
export function ranText(node: RanNode, indent: string = ''): string {
  const { operator, ran, because, inputs } = node
  const measured = measuresText(node)
  const how = ran === undefined ? '' : `; ${ran}${because === undefined ? '' : `, because ${endless(because)}`}`
  const line = `${indent}${operator}${measured === '' ? '' : `: ${measured}`}${how}`
  return [line, ...inputs.map((input) => ranText(input, `${indent}  `))].join('\n')
}

function measuresText({ rowsIn, rows, pieces, milliseconds, bytes, spilled }: RanNode): string {
  const before = rowsIn === undefined ? '' : `${numberText(rowsIn)} -> `
  return [
    ...(rows === undefined ? [] : [`${before}${numberText(rows)} ${rows === 1 ? 'row' : 'rows'}`]),
    ...(pieces === undefined ? [] : [piecesText(pieces)]),
    ...(milliseconds === undefined ? [] : [millisecondsText(milliseconds)]),
    ...(bytes === undefined ? [] : [bytesText(bytes)]),
    ...(spilled === undefined ? [] : [`${bytesText(spilled)} spilled`]),
  ].join(', ')
}

function piecesText({ of, read, all, rows }: Pieces): string {
  const text = `${read} of ${all} ${of}`
  return rows === undefined ? text : `${text} (pages with ${numberText(rows.read)} of ${numberText(rows.all)} rows)`
}

export function millisecondsText(milliseconds: number): string {
  return `${milliseconds.toFixed(1)} ms`
}

function numberText(rows: number): string {
  return rows.toLocaleString('en')
}

/** Turns a sentence into the end of another. */
export function endless(sentence: string): string {
  return sentence.replace(/^It /, 'it ').replace(/\.$/, '')
}
