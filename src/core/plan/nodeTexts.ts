/** The texts of the parts of nodes, for `explain()`: their aggregates, windows, keys and orders. */
import type { ArraySource } from './logicalPlan.ts'
import {
  type AggregateCall,
  type Directions,
  functionsOfCall,
  type GroupHow,
  type JoinKey,
  type LogicalPlan,
  type WindowCall,
  type WindowFrame,
} from './logicalPlan.ts'

/** Writes how many files of a hive-partitioned source are read; empty where all are. */
export function filesText({ files }: ArraySource): string {
  return files === undefined || files.read === files.all ? '' : `, files: ${files.read} of ${files.all}`
}

export function howText(how: GroupHow): string {
  switch (how.kind) {
    case 'agg':
      return `${how.aggregates.map(aggregateText).join(', ')}${how.partial === true ? ' per partition first' : ''}`
    case 'reduce':
    case 'map':
      return `${how.kind} ${how.f.text}`
  }
}

function aggregateText(call: AggregateCall): string {
  const functions = functionsOfCall(call).map(({ text }) => text)
  return `${call.name} = ${call.kind}(${[...functions, ...(call.q === undefined ? [] : [call.q])].join(', ')})`
}

/** Writes ` descending`, or ` ascending, descending` for several keys; empty where all ascend. */
export function directionText(descending: Directions): string {
  if (typeof descending === 'boolean') return descending ? ' descending' : ''
  return descending.includes(true) ? ` ${descending.map((one) => (one ? 'descending' : 'ascending')).join(', ')}` : ''
}

/** Writes a window's partition, order and frame: `by r => r.user order r => r.ts rows [-6, 0]`. */
export function windowText({ by, orderBy, descending, frame }: Extract<LogicalPlan, { kind: 'Window' }>): string {
  const order = orderBy === undefined ? '' : `order ${orderBy.text}${directionText(descending)} `
  return `${by === undefined ? '' : `by ${by.text} `}${order}${frameText(frame)}`
}

/** Writes a frame on one line, as `rows [-6, 0]`; null is the end of the partition. */
export function frameText({ kind, from, to }: WindowFrame): string {
  return `${kind} [${from}, ${to}]`
}

export function windowCallText({ name, kind, of, n, ignoresNulls }: WindowCall): string {
  return `${name} = ${kind}(${[of?.text ?? [], n ?? []].flat().join(', ')})${ignoresNulls === true ? ' ignoring nulls' : ''}`
}

export function joinKeyText(on: JoinKey): string {
  switch (on.kind) {
    case 'column':
      return ` on "${on.column}"`
    case 'functions':
      return on.shared === undefined ? ` on ${on.left.text} = ${on.right.text}` : ` on ${on.shared.map((name) => `"${name}"`).join(', ')}`
    case 'none':
      return ''
  }
}

/** Writes an as-of join: `backward on r => r.at ~ q => q.at by r => r.symbol = q => q.symbol within 60000`. */
export function asofText({ direction, on, by, tolerance }: Extract<LogicalPlan, { kind: 'AsofJoin' }>): string {
  const equal = by === undefined ? '' : ` by ${by.left.text} = ${by.right.text}`
  const near = tolerance === undefined ? '' : ` within ${tolerance}`
  return `${direction} on ${on.left.text} ~ ${on.right.text}${equal}${near}`
}

export function selectorText(selector: number | readonly [number, number] | null): string {
  if (selector === null) return ':'
  return typeof selector === 'number' ? String(selector) : `${selector[0]}:${selector[1]}`
}
