/**
 * Questions that only compare a text with constants: all texts but these have the same answers, so a text is numbered by its bytes, and
 * none has to be made.
 *
 *     s => s === 'Bern' || s === 'Oslo'      Bern, Oslo, and any other text
 */
import type { Expr, FunctionIr } from '../../../../core/ir/functionIr.ts'

/** A text, and its number. */
interface Numbered {
  readonly text: string
  readonly number: number
}

/** The constants with their numbers, and a text that stands for all others. */
export interface ComparedTexts {
  readonly constants: readonly Numbered[]
  readonly other: Numbered
}

/** The most constants: each entry of a dictionary is compared with all of them that are as long. */
const MOST_CONSTANTS = 16

/** The constants of the questions, numbered by `numberOf`; undefined where something else is asked of a text, or a text has no number. */
export function comparedTexts(questions: readonly FunctionIr[], numberOf: (text: string) => number | undefined): ComparedTexts | undefined {
  const known = new Set<string>()
  if (!questions.every((ir) => isComparison(ir, known)) || known.size > MOST_CONSTANTS) return undefined
  let outside = '-'
  while (known.has(outside)) outside += '-'
  const [other, ...constants] = [outside, ...known].map((text) => ({ text, number: numberOf(text) }))
  const isNumbered = (one: { readonly text: string; readonly number: number | undefined }): one is Numbered => one.number !== undefined
  return other !== undefined && isNumbered(other) && constants.every(isNumbered) ? { constants, other } : undefined
}

function isComparison(ir: FunctionIr, known: Set<string>): boolean {
  const [only, ...others] = ir.body
  return only?.kind === 'Return' && only.value !== undefined && others.length === 0 && comparesOnly(only.value, ir, known)
}

/** Whether the text occurs only in comparisons with constants, which are added to `known`. */
function comparesOnly(expr: Expr, ir: FunctionIr, known: Set<string>): boolean {
  switch (expr.kind) {
    case 'Literal':
    case 'Parameter':
      return true
    case 'Unary':
      return expr.operator === '!' && comparesOnly(expr.operand, ir, known)
    case 'Logical':
      return comparesOnly(expr.left, ir, known) && comparesOnly(expr.right, ir, known)
    case 'Binary': {
      if (expr.operator !== '===' && expr.operator !== '!==') return false
      const { left, right } = expr
      const constant = left.kind === 'Input' ? right : right.kind === 'Input' ? left : undefined
      if (constant?.kind !== 'Literal' && constant?.kind !== 'Parameter') return false
      const value = constant.kind === 'Literal' ? constant.value : ir.parameters.find(({ name }) => name === constant.name)?.value
      if (typeof value === 'string') known.add(value)
      return true
    }
    case 'Find': {
      const keys = ir.tables.find(({ name }) => name === expr.keys)?.value
      if (expr.key.kind !== 'Input' || expr.of !== 'keyed' || expr.values !== undefined || keys === undefined) return false
      for (let i = 0; i < keys.length && known.size <= MOST_CONSTANTS; i++) {
        const key = keys[i]
        if (typeof key === 'string') known.add(key)
      }
      return true
    }
    default:
      return false
  }
}
