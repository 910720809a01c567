/**
 * Texts that a body makes of whole numbers, as keys of its collections: numbers that tell them apart.
 *
 *     `${x},${y}`     of the shape # , #     -->     2^20 + (number of the shape) * 2^50 + (x + 2^24) * 2^25 + (y + 2^24)
 *
 * Equal texts have one number, and others have another: what stands between two numbers begins with no digit, so that a text says
 * which numbers it was made of, and texts of two shapes differ even without their signs. Numbers beyond the range have no such text: the
 * body asks first. Texts that are written out or captured, and have such a shape, have the same numbers.
 */
import type { Expr } from '../../../../core/ir/functionIr.ts'

/** What stands before, between and behind the numbers of a text. */
export type TextShape = readonly string[]

export interface BuiltText {
  readonly shape: TextShape
  readonly parts: readonly Expr[]
}

/** Most numbers of a text, and most shapes of a body: their numbers fit into 53 bits. */
const MOST_PARTS = 5
const MOST_SHAPES = 6
/** The numbers of other texts are below it. */
export const FIRST_BUILT: number = 2 ** 20
const BITS = 50

/** Returns how far from zero the numbers of a text may be, and the factor by which one counts more than the one behind it. */
export function rangeOfParts(count: number): { readonly half: number; readonly factor: number } {
  const factor = 2 ** Math.floor(BITS / count)
  return { half: factor / 2, factor }
}

/** Returns the parts of a text that is made of numbers; undefined for other expressions. */
export function builtText(expr: Expr): BuiltText | undefined {
  const pieces: (string | Expr)[] = []
  if (!isText(expr) || !takeApart(expr, pieces)) return undefined
  const shape = ['']
  const parts: Expr[] = []
  for (const piece of pieces) {
    if (typeof piece === 'string') shape.push(`${shape.pop()}${piece}`)
    else {
      parts.push(piece)
      shape.push('')
    }
  }
  const areApart = shape.every((piece, i) => i === 0 || i === shape.length - 1 || piece !== '')
  if (parts.length === 0 || parts.length > MOST_PARTS || !areApart || withoutSigns(shape) === '#') return undefined
  return { shape, parts }
}

function isText(expr: Expr): boolean {
  if (expr.kind === 'Literal') return typeof expr.value === 'string'
  if (expr.kind === 'Call') return expr.callee === 'String'
  return expr.kind === 'Binary' && expr.operator === '+' && (isText(expr.left) || isText(expr.right))
}

function takeApart(expr: Expr, pieces: (string | Expr)[]): boolean {
  if (expr.kind === 'Binary' && isText(expr)) return takeApart(expr.left, pieces) && takeApart(expr.right, pieces)
  if (expr.kind === 'Call' && expr.callee === 'String') return expr.args.length === 1 && takeApart(expr.args[0] as Expr, pieces) // there is one
  if (expr.kind === 'Literal' && typeof expr.value === 'string') {
    const { span, value } = expr
    // a hyphen behind a number is no sign
    const behind = value.startsWith('-') && typeof pieces.at(-1) === 'object' ? '-' : ''
    pieces.push(behind)
    for (const [i, piece] of value
      .slice(behind.length)
      .split(/((?<!\d)-?\d+)/)
      .entries()) {
      const number = Number(piece)
      if (i % 2 === 1 && String(number) !== piece) return false
      pieces.push(i % 2 === 1 ? { kind: 'Literal', value: number, span } : piece)
    }
    return true
  }
  pieces.push(expr)
  return true
}

/** Returns a shape without signs, which may be those of numbers. */
function withoutSigns(shape: TextShape): string {
  return shape.join('#').replaceAll('-', '')
}

/** Returns the number of a shape among those that are known; undefined where it is none of them. */
export function numberOfShape(shapes: readonly TextShape[], shape: TextShape): number | undefined {
  const at = shapes.findIndex((one) => one.join('#') === shape.join('#'))
  return at < 0 ? undefined : at
}

/** Whether a shape can be told from all that are known, and is none of them. */
export function isNewShape(shapes: readonly TextShape[], shape: TextShape): boolean {
  return shapes.length < MOST_SHAPES && shapes.every((one) => withoutSigns(one) !== withoutSigns(shape))
}

/** Returns the number of a text that has a known shape; undefined for others. */
export function codeOfBuilt(shapes: readonly TextShape[], text: string): number | undefined {
  for (const [number, shape] of shapes.entries()) {
    const numbers = numbersIn(shape, text)
    const { half, factor } = rangeOfParts(shape.length - 1)
    if (numbers?.every((one) => one >= -half && one < half) !== true) continue
    return numbers.reduce((sum, one) => sum * factor + one + half, 0) + firstOfShape(number)
  }
  return undefined
}

/** Returns the number of the first text of a shape. */
export function firstOfShape(number: number): number {
  return FIRST_BUILT + number * 2 ** BITS
}

function numbersIn(shape: TextShape, text: string): readonly number[] | undefined {
  const escaped = shape.map((piece) => piece.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
  const found = new RegExp(`^${escaped.join('(-?\\d+)')}$`, 'u').exec(text)
  const numbers = found?.slice(1).map(Number)
  // a number whose text is another, as 007 or -0, makes no such text
  return numbers?.every((one, i) => String(one) === found?.[i + 1]) === true ? numbers : undefined
}
