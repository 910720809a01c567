/** Small pieces of the text of loop kernels: statements, labels, literals, accumulators. */
import { columnsOf, elementIndex } from './loopKernelFrame.ts'
import type { KernelShape } from './loopKernelShape.ts'

type Form = ReturnType<KernelShape['accumulators']['get']>

/** The text before the loop: a local for an accumulator; for a sum, it reserves room for `adds` additions an iteration. */
export function accumulatorStart(form: Form, i: number, adds: number): string {
  if (form === 'custom') return ''
  if (form !== 'sum') return `let c${i} = C${i}.value`
  return `let c${i} = C${i}.reserve(${adds === 1 ? 'to - from' : `${adds} * (to - from)`}), c${i}v = C${i}.values`
}

export function accumulatorEnd(form: Form, i: number): string {
  return form === 'custom' ? '' : form === 'sum' ? `C${i}.length = c${i}` : `C${i}.value = c${i}`
}

/** Reads the element when its iteration starts, so that later writes of the body do not change it. */
export function elementStart(shape: KernelShape, usesElement: boolean, usedColumns: Iterable<number>): string[] {
  if (shape.element.kind === 'dense' && usesElement) return [`const x = X[${elementIndex(shape)}]`]
  const columns = columnsOf(shape.element)
  return [...usedColumns].flatMap((i) => {
    const column = columns[i]
    if (column === undefined) return []
    if (column.form === 'reader') return [`let e${i} = unset`]
    const value = column.form === 'bool' ? `E${i}[q] !== 0` : `E${i}[q]`
    return [`const e${i} = ${column.nullable ? `(E${i}v[q >> 3] & (1 << (q & 7))) === 0 ? null : ${value}` : value}`]
  })
}

/** Joins statements, one a line. The last has no semicolon: its block adds one. */
export function lines(...statements: readonly string[]): string {
  return statements.join(';\n')
}

export function userLabel(label: string): string {
  return `block_${[...label].map((c) => (/[A-Za-z0-9]/.test(c) ? c : `_${c.codePointAt(0)?.toString(16)}`)).join('')}`
}

export function literalText(value: unknown): string {
  if (typeof value === 'number') return Object.is(value, -0) ? '(-0)' : value < 0 ? `(${value})` : String(value)
  if (typeof value === 'bigint') return `(${value}n)`
  if (typeof value === 'string') return JSON.stringify(value)
  return String(value)
}
