/**
 * Addresses of single elements: subscripts are evaluated, checked against the extents unless they are proved in bounds, and made an
 * address.
 */

import type { DType } from '../../../core/data/schema.ts'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { type Code, codeId, type GrowingCode, I, OP, SATURATE } from '../../kir/instructions.ts'
import { asF64, heldAs, isAbsent, isInteger, isUnclear, NotCompiled, type Value } from '../expressions/types.ts'
import { LOG2_BYTES, shifted, sumOf } from './wasmCode.ts'
import type { KernelWriter } from './wasmWriter.ts'

/** Returns code that evaluates the subscripts, code that throws unless they are in bounds, and code that leaves the address. */
export function accessCode(
  w: KernelWriter,
  node: object,
  array: string,
  subscripts: readonly Expr[],
  base: string,
  dtype: DType,
): { readonly evaluate: Code; readonly check: Code; readonly address: Code; readonly offset: number } {
  const known = w.known.get(node)
  if (known !== undefined) return { evaluate: [], check: [], address: known.code(), offset: known.offset }
  const { number, shape } = w.array(array)
  const evaluate: GrowingCode = []
  const inside: Code[] = []
  const shown: Code[] = []
  let absent = ''
  const terms: { readonly code: Code; readonly steady: boolean }[] = []
  for (const [axis, subscript] of subscripts.entries()) {
    const value = w.expr(subscript)
    const extent = shape.extents[axis] ?? 0
    if (value.type.kind === 'bool') throw new NotCompiled('a subscript is a truth value', subscript.span)
    if (isUnclear(value.type)) throw new NotCompiled('a subscript may be undefined', subscript.span)
    absent += isAbsent(value.type) ? '?' : '.'
    if (value.type.kind === 'bigint') throw new NotCompiled('a subscript is a bigint', subscript.span)
    const { type } = value
    let code = isInteger(type) ? value.code : asF64(value)
    if (!isSteady(subscript)) {
      const slot = w.declare(heldAs(type))
      evaluate.push(code, I.localSet(slot))
      code = I.localGet(slot)
    }
    const held: Value = { type, code }
    shown.push(asF64(value.literal === undefined ? held : value))
    if (type.kind === 'i64') {
      inside.push([code, w.global(`A${number}n${axis}`), OP.i64ExtendI32U, OP.i64LtU])
      code = [code, OP.i32WrapI64]
    } else if (type.kind !== 'i32') {
      const whole = w.declare('i32')
      const converted = [code, SATURATE.i32U, I.localTee(whole), OP.f64ConvertI32U, code, OP.f64Eq]
      inside.push([...converted, I.localGet(whole), w.global(`A${number}n${axis}`), OP.i32LtU, OP.i32And])
      code = I.localGet(whole)
    } else if (!(type.low >= 0 && type.high < extent)) {
      inside.push([code, w.global(`A${number}n${axis}`), OP.i32LtU])
    }
    terms.push({
      code,
      steady: inside.length === 0 && (subscript.kind === 'Literal' || (subscript.kind === 'Key' && !w.isRunKey(subscript))),
    })
  }
  const check =
    inside.length === 0
      ? []
      : [
          inside,
          ...inside.slice(1).map(() => OP.i32And),
          OP.i32Eqz,
          I.if(),
          ...[I.i32Const(number), w.place, ...shown],
          I.call(w.function(`outside${absent}`, ['i32', 'i32', ...shown.map(() => 'f64' as const)], [])),
          ...[OP.unreachable, OP.end],
        ]
  return { evaluate, check, address: address(w, number, base, terms, LOG2_BYTES[dtype]), offset: 0 }
}

/** Computes an address; its part that only keys decide is computed once an iteration, or once for a run of them. */
function address(
  w: KernelWriter,
  number: number,
  base: string,
  terms: readonly { readonly code: Code; readonly steady: boolean }[],
  shift: number,
): Code {
  const strided = terms.map(({ code }, axis) => w.scaled(number, axis, code, terms.length))
  const row = [w.base(base), ...(terms.length > 1 ? [sumOf(strided.slice(0, -1)), shifted(shift), OP.i32Add] : [])]
  const last = [...(strided[strided.length - 1] ?? I.i32Const(0)), shifted(shift), OP.i32Add]
  if (terms.length < 2 || !terms.slice(0, -1).every((term) => term.steady)) return [row, last]
  const key = codeId(row)
  let kept = w.rowBases.get(key)
  if (kept === undefined) {
    kept = { slot: w.declare('i32'), code: row }
    w.rowBases.set(key, kept)
  }
  return [I.localGet(kept.slot), last]
}

/** Whether a subscript is read where it is used, without being computed before. */
export function isSteady(expr: Expr): boolean {
  return expr.kind === 'Key' || expr.kind === 'Local' || expr.kind === 'Parameter' || expr.kind === 'Literal'
}
