/**
 * Element accesses to dense arrays in the text of a loop kernel. A subscript that `loopKernelRanges.ts` proves in bounds is
 * not checked.
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import { integerRange, type RangeScope } from './loopKernelRanges.ts'
import type { ArrayShape } from './loopKernelShape.ts'

export interface PlaceText {
  /** Expressions that assign the subscripts to variables, in order. */
  readonly evaluate: readonly string[]
  /** An expression that throws unless the subscripts are in bounds; empty where that is proved. */
  readonly check: readonly string[]
  readonly index: string
}

/** The writer of the surrounding text, as accesses need it. */
interface Texts {
  readonly expr: (expr: Expr) => string
  /** Declares a new variable and returns its name. */
  readonly temporary: (prefix: string) => string
}

export class Places {
  /** Loop-invariant parts of indices, which depend on keys only and are computed once an iteration: their names by their texts. */
  readonly rowBases: Map<string, string> = new Map()
  readonly #scope: RangeScope
  readonly #texts: Texts

  constructor(scope: RangeScope, texts: Texts) {
    this.#scope = scope
    this.#texts = texts
  }

  /** Returns the access to element `subscripts` of dense array number `i`. */
  place(i: number, shape: Extract<ArrayShape, { kind: 'dense' }>, subscripts: readonly Expr[]): PlaceText {
    const evaluate: string[] = []
    const conditions: string[] = []
    const terms: Term[] = []
    const shown: string[] = []
    const last = subscripts.length - 1
    const small = (shape.strides[0] ?? 1) * (shape.extents[0] ?? 1) < 2 ** 31
    for (const [axis, subscript] of subscripts.entries()) {
      const range = integerRange(subscript, this.#scope)
      const inside = range !== undefined && range.low >= 0 && range.high < (shape.extents[axis] ?? 0)
      let name = this.#texts.expr(subscript)
      if (!isSteady(subscript)) {
        const temporary = this.#texts.temporary('t')
        evaluate.push(`${temporary} = ${name}`)
        name = temporary
      }
      shown.push(name)
      if (!inside) {
        const checked = this.#texts.temporary('u')
        conditions.push(`(${checked} = ${name} >>> 0) === ${name} && ${checked} < A${i}n${axis}`)
        name = checked
      }
      const text = axis === last ? name : small ? `Math.imul(${name}, A${i}s${axis})` : `${name} * A${i}s${axis}`
      terms.push({ text, steady: inside && (subscript.kind === 'Key' || subscript.kind === 'Literal') })
    }
    const check = conditions.length === 0 ? [] : [`(${conditions.join(' && ')} || outside(${i}, [${shown.join(', ')}]))`]
    return { evaluate, check, index: this.#index(terms, small) }
  }

  /** Joins the terms of an index; the part that only keys decide is hoisted. `small`: all indices are 32-bit integers. */
  #index(terms: readonly Term[], small: boolean): string {
    const texts = terms.map((term) => term.text)
    const leading = texts.slice(0, -1).join(' + ')
    if (leading === '') return texts.join('')
    let row = leading
    if (terms.slice(0, -1).every((term) => term.steady)) {
      row = this.rowBases.get(leading) ?? `b${this.rowBases.size}`
      this.rowBases.set(leading, row)
    }
    const sum = `(${row} + ${texts[texts.length - 1]})`
    return small ? `(${sum} | 0)` : sum
  }
}

/** Whether reading the text twice gives the same value, so that a subscript can be checked and used without a copy. */
function isSteady(expr: Expr): boolean {
  return (
    expr.kind === 'Key' || expr.kind === 'Local' || expr.kind === 'Parameter' || (expr.kind === 'Literal' && typeof expr.value === 'number')
  )
}

/** One axis' term of an index; steady where only keys and literals decide it, and it is proved in bounds. */
interface Term {
  readonly text: string
  readonly steady: boolean
}
