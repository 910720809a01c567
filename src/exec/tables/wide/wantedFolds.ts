/** What partitions compute of each group for the aggregates of a group-by, and where results go. */
import type { Column } from '../../../core/data/column.ts'
import type { ColumnType } from '../../../core/data/schema.ts'
import { valueClassOf } from '../../../core/plan/elements.ts'
import type { Aggregate } from '../../../planner/physical/physicalPlan.ts'
import type { KernelType } from '../../kernels/tables/groupFrame.ts'
import type { ComparedPart } from '../../kernels/tables/partitionKernels.ts'
import type { ResultBlocks } from '../columns/resultBlocks.ts'
import { type GroupMemory, kernelType } from '../operators/groupBy/groupMemory.ts'
import { extremesColumn, numbersColumn, statisticOf } from '../operators/groupBy/groupStatistics.ts'
import type { PartitionFolds } from '../operators/groupBy/partitionFolds.ts'
import type { ComparedColumn } from '../operators/groupBy/radixPartitions.ts'
import { isFinerThanMilliseconds } from '../operators/sort/wholeMilliseconds.ts'
import { isGatherable } from './gatherRun.ts'

/** Collects the folds that partitions compute for the aggregates, with the addresses of their results. */
export class Wanted implements Pick<PartitionFolds, 'folds' | 'rowCounts' | 'numbers' | 'distinct'> {
  readonly folds: PartitionFolds['folds'][number][] = []
  readonly rowCounts: number[] = []
  readonly numbers: (PartitionFolds['numbers'][number] & { readonly calls: PartitionFolds['numbers'][number]['calls'][number][] })[] = []
  readonly distinct: PartitionFolds['distinct'][number][] = []
  /** The columns whose values are collected, each with its lists once there are some. */
  readonly collected: Map<Column, Column | undefined> = new Map()
  private readonly groups: { readonly length: number }
  private readonly blocks: ResultBlocks
  private readonly memory: GroupMemory
  constructor(groups: { readonly length: number }, blocks: ResultBlocks, memory: GroupMemory) {
    this.groups = groups
    this.blocks = blocks
    this.memory = memory
  }

  /** Adds an aggregate; returns a function that makes its column once all is computed, or undefined where no kernel computes it. */
  result(call: Aggregate, column: Column | undefined): (() => Column) | undefined {
    const { memory, groups } = this
    const doubles = (): Float64Array => this.blocks.like(new Float64Array(), groups.length)
    const { kind } = call
    if (kind === 'count' && column?.validity === undefined && column?.type.kind !== 'null' && column?.type.kind !== 'object') {
      const values = doubles()
      this.rowCounts.push(values.byteOffset)
      return () => numbersColumn(values)
    }
    if (column === undefined) return undefined
    if (kind === 'count' && column.validity !== undefined && column.type.kind !== 'null' && column.type.kind !== 'object') {
      const values = doubles()
      const bits = memory.addressOf(column.validity)
      this.folds.push({ kind, type: 'u8', values: bits, bits, out: values.byteOffset, present: 0 }) // whatever its type: no value is read
      return () => numbersColumn(values)
    }
    if (kind === 'collect') {
      if (!isGatherable(column)) return undefined
      this.collected.set(column, undefined)
      return () => this.collected.get(column) as Column // set when all is computed
    }
    if (kind === 'countDistinct') {
      const compared = isFinerThanMilliseconds(column.type) ? undefined : comparedColumn(column, memory)
      if (compared === undefined) return undefined
      const values = doubles()
      this.distinct.push({ ...compared, hashes: memory.room(4 * column.length), out: values.byteOffset })
      return () => numbersColumn(values)
    }
    const isDay = column.type.kind === 'date' && (kind === 'min' || kind === 'max') // a number of days
    const isFolded = valueClassOf(column.type) === 'number' || column.type.kind === 'bool' || isDay
    const type = isFolded ? kernelType(column.type.kind) : undefined
    if (type === undefined) return undefined
    const place = { type, values: memory.addressOf(column.values), bits: memory.addressOf(column.validity) }
    const present = (): number => memory.room(4 * groups.length)
    const counts = (address: number): Int32Array => memory.integers(address, groups.length)
    if (kind === 'sum' || kind === 'mean' || kind === 'min' || kind === 'max') {
      const values = doubles()
      const own = place.bits === 0 || kind === 'sum' ? 0 : present()
      this.folds.push({ kind, ...place, out: values.byteOffset, present: own })
      const known = (): readonly [Float64Array, Int32Array?] => (own === 0 ? [values] : [values, counts(own)])
      return kind === 'min' || kind === 'max' ? () => extremesOf(column.type, ...known()) : () => numbersColumn(...known())
    }
    if ((kind === 'any' || kind === 'all') && column.type.kind === 'bool') {
      const values = doubles()
      const own = place.bits === 0 ? 0 : present()
      this.folds.push({ kind: kind === 'any' ? 'max' : 'min', ...place, out: values.byteOffset, present: own })
      return () => extremesOf(column.type, values, own === 0 ? undefined : counts(own))
    }
    if (statisticOf(call) === undefined) return undefined
    const values = doubles()
    const own = { call, out: values.byteOffset, present: present() }
    const same = this.numbers.find((one) => one.values === place.values && one.bits === place.bits)
    if (same === undefined) this.numbers.push({ ...place, calls: [own] })
    else same.calls.push(own)
    return () => numbersColumn(values, counts(own.present))
  }
}

function extremesOf(type: ColumnType, values: Float64Array, counts?: Int32Array): Column {
  return type.kind === 'f64' ? { ...numbersColumn(values, counts), type } : extremesColumn(values, type, counts)
}

/** The column as kernels hash and compare it; undefined for a type that they do not, or a column of type null. */
export function comparedColumn({ type, values, offsets, validity }: Column, memory: GroupMemory): ComparedColumn | undefined {
  const bits = memory.addressOf(validity)
  const place = { nullable: bits !== 0, values: memory.addressOf(values), bits }
  if (type.kind === 'utf8' || type.kind === 'binary') return { form: 'texts', ...place, offsets: memory.addressOf(offsets) }
  const kind = kernelType(type.kind)
  const form = kind && FORMS[kind]
  return form === undefined ? undefined : { form, ...place, offsets: 0 }
}

const FORMS: { readonly [K in KernelType]: ComparedPart['form'] } = {
  ...{ f64: 'f64', f32: 'f32', i64: 'long', i32: 'word', u32: 'word', i16: 'half', u16: 'half', i8: 'byte', u8: 'byte' },
}
