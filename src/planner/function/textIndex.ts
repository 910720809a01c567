/** Characters of texts in row functions, `r.name[0]`: undefined outside of the text. */
import type { AnyNode } from 'acorn'
import type { Expr } from '../../core/ir/functionIr.ts'
import type { Lowering } from './lower/lowering.ts'
import { exprValue, type Value } from './lower/value.ts'
import { refusalOf } from './refusals.ts'

/** Lowers `text[index]`, where the value is a text and the index a number; undefined in loops. */
export function characterAt(l: Lowering, text: Expr, index: Expr, node: AnyNode): Value | undefined {
  if (l.context.kind !== 'row') return undefined
  const span = l.span(node)
  const refusal = refusalOf('string-index', span)
  const areAll = (kinds: readonly string[] | undefined, of: ReadonlySet<string>): boolean => kinds?.every((kind) => of.has(kind)) === true
  l.checks.push({ expr: text, holds: (kinds) => areAll(kinds, TEXTS), refusal })
  l.checks.push({ expr: index, holds: (kinds) => areAll(kinds, NUMBERS), refusal })
  return exprValue({ kind: 'MethodCall', method: 'character', object: text, args: [index], optional: false, span })
}

const TEXTS: ReadonlySet<string> = new Set(['utf8', 'null'])
const NUMBERS: ReadonlySet<string> = new Set(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8'])
