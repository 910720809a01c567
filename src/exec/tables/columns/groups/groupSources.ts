/** The inputs of a group-by in one pass: computed columns, values that are copied to lists, and the folds of the aggregates. */

import type { ColumnType } from '../../../../core/data/schema.ts'
import { valueClassOf } from '../../../../core/plan/elements.ts'
import type { Aggregate } from '../../../../planner/physical/physicalPlan.ts'
import { computedType, type ProgramOutput } from '../../../kernels/columns/programShape.ts'
import type { KernelType } from '../../../kernels/tables/groupFrame.ts'
import type { PassFold } from '../../../kernels/tables/groupPassKernels.ts'
import { kernelType } from '../../operators/groupBy/groupMemory.ts'
import type { ColumnRun } from '../columnRun.ts'
import { addressOf } from '../kernelBinding.ts'
import type { ComputedColumn, PassColumn } from './groupPass.ts'

/** Collects the columns that the pass computes, and those it copies to lists. */
export class PassSources {
  readonly run: ColumnRun
  /** The outputs that the kernel computes, in order. */
  readonly computed: (ComputedColumn & { readonly name: string })[] = []
  readonly copied: { readonly from: PassColumn; readonly type: KernelType; readonly name: string; readonly isDay?: boolean }[] = []
  constructor(run: ColumnRun) {
    this.run = run
  }

  /** Adds an output to those that are computed; the caller adds each only once. */
  compute(name: string, log2Bytes: number): ComputedColumn {
    const column = { output: this.computed.length, log2Bytes, name }
    this.computed.push(column)
    return column
  }

  /** The source of a fold's values; undefined where the output is no number, for extremes no day either, or may be null. */
  added(output: ProgramOutput, isExtreme: boolean): { readonly list: number } | { readonly address: number } | undefined {
    const { program, arena } = this.run
    const known = this.copied.findIndex(({ name }) => name === output.name)
    if (known >= 0) return { list: known }
    if (output.nullable) return undefined
    if (output.kind === 'computed') {
      if (output.type === 'utf8') return undefined
      const isTruth = output.type === 'bool'
      return this.copy({ from: this.compute(output.name, isTruth ? 0 : 3), type: isTruth ? 'u8' : 'f64', name: output.name })
    }
    const column = program.columns[output.column]
    const address = addressOf(column?.values, arena)
    if (column === undefined || address === undefined) return undefined
    if (valueClassOf(column.type) !== 'number' && column.type.kind !== 'bool' && !(isExtreme && column.type.kind === 'date'))
      return undefined
    if (column.type.kind === 'f64' && !program.shape.filters) return { address }
    return this.copy({
      ...{ from: { address }, type: kernelType(column.type.kind) ?? 'f64', name: output.name },
      isDay: column.type.kind === 'date',
    })
  }

  private copy(column: (typeof this.copied)[number]): { readonly list: number } {
    return { list: this.copied.push(column) - 1 }
  }
}

/** An aggregate: the index of its fold (unused for counts), and the type of its values. */
export interface FoldOfCall {
  readonly kind: 'sum' | 'mean' | 'variance' | 'stddev' | 'min' | 'max' | 'count'
  readonly fold: number
  readonly type: ColumnType
}

export interface PassFolds {
  readonly of: readonly FoldOfCall[]
  readonly kinds: readonly PassFold[]
  /** The source of each fold's values. */
  readonly from: readonly ({ readonly list: number } | { readonly address: number })[]
}

const FOLDED: readonly FoldOfCall['kind'][] = ['sum', 'mean', 'variance', 'stddev', 'min', 'max', 'count']

/** Whether an aggregate needs the mean of all rows first, and so a second pass. */
export function isSpread({ kind }: { readonly kind: Aggregate['kind'] }): boolean {
  return kind === 'variance' || kind === 'stddev'
}

/** Whether an aggregate is a fold of numbers. */
export function isFolded(kind: Aggregate['kind']): kind is FoldOfCall['kind'] {
  return FOLDED.some((one) => one === kind)
}

/** The folds of the aggregates; undefined where one is no fold of numbers without nulls. */
export function passFolds(run: ColumnRun, aggregates: readonly Aggregate[], sources: PassSources): PassFolds | undefined {
  const { shape, columns } = run.program
  const kinds: PassFold[] = []
  const added: PassFolds['from'][number][] = []
  const of: FoldOfCall[] = []
  const known = new Map<string, number>()
  for (const { kind, column } of aggregates) {
    if (!isFolded(kind)) return undefined
    if (column === undefined) {
      of.push({ kind, fold: 0, type: { kind: 'f64' } })
      continue
    }
    const hidden = shape.hidden?.[column + 1]
    const output = hidden?.kind === 'value' ? shape.outputs.find(({ name }) => name === hidden.output) : undefined
    const from = output === undefined ? undefined : sources.added(output, kind === 'min' || kind === 'max')
    if (output === undefined || from === undefined) return undefined
    const type: ColumnType = output.kind === 'computed' ? computedType(output.type) : (columns[output.column]?.type ?? { kind: 'f64' })
    const fold = kind === 'mean' || kind === 'variance' || kind === 'stddev' ? 'sum' : kind
    if (fold === 'count') {
      of.push({ kind, fold: 0, type })
      continue
    }
    const name = `${fold} ${output.name}`
    const at = known.get(name) ?? kinds.length
    if (at === kinds.length) {
      known.set(name, at)
      kinds.push(fold)
      added.push(from)
    }
    of.push({ kind, fold: at, type })
  }
  return { of, kinds, from: added }
}
