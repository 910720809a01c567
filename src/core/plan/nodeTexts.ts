/** What nodes say of themselves, in parts: their aggregates, windows, keys and orders. */
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

/** How many of the files that folders tell apart are read, where some are left out. */
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

/** ` descending`, ` ascending, descending` of several keys; nothing where all go up. */
export function directionText(descending: Directions): string {
  if (typeof descending === 'boolean') return descending ? ' descending' : ''
  return descending.includes(true) ? ` ${descending.map((one) => (one ? 'descending' : 'ascending')).join(', ')}` : ''
}

/** What the rows of a window are: `by r => r.user order r => r.ts rows [-6, 0]`. */
export function windowText({ by, orderBy, descending, frame }: Extract<LogicalPlan, { kind: 'Window' }>): string {
  const order = orderBy === undefined ? '' : `order ${orderBy.text}${directionText(descending)} `
  return `${by === undefined ? '' : `by ${by.text} `}${order}${frameText(frame)}`
}

/** A frame on one line, as `rows [-6, 0]`; null is the end of the partition. */
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

/** `backward on r => r.at ~ q => q.at by r => r.symbol = q => q.symbol within 60000`. */
export function asofText({ direction, on, by, tolerance }: Extract<LogicalPlan, { kind: 'AsofJoin' }>): string {
  const equal = by === undefined ? '' : ` by ${by.left.text} = ${by.right.text}`
  const near = tolerance === undefined ? '' : ` within ${tolerance}`
  return `${direction} on ${on.left.text} ~ ${on.right.text}${equal}${near}`
}

export function selectorText(selector: number | readonly [number, number] | null): string {
  if (selector === null) return ':'
  return typeof selector === 'number' ? String(selector) : `${selector[0]}:${selector[1]}`
}
