/**
 * Reads of captured tables; an element out of bounds is undefined, which a double holds as NaN.
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import { type Code, I, OP, SATURATE } from '../../kir/instructions.ts'
import { ABSENT, asF64, MAYBE, NotCompiled, type Value } from '../expressions/types.ts'
import { LOG2_BYTES, loadOf, shifted } from './wasmCode.ts'
import type { KernelWriter } from './wasmWriter.ts'

export function tableNumber(w: KernelWriter, name: string): number {
  return w.target.ir.tables.findIndex((table) => table.name === name)
}

export function lookup(w: KernelWriter, expr: Extract<Expr, { kind: 'Lookup' }>): Value {
  const held = w.held.get(expr)
  if (held !== undefined) return held
  const table = tableNumber(w, expr.table)
  const dtype = w.target.tableTypes[table]
  const length = w.target.tableLengths[table] ?? 0
  if (dtype === undefined) throw new NotCompiled(`${expr.table} holds more than numbers`, expr.span)
  const index = w.expr(expr.index)
  if (index.type.kind === 'bool') throw new NotCompiled('an index is a truth value', expr.span)
  if (index.type.kind === 'bigint') throw new NotCompiled('an index is a bigint', expr.span)
  const load = (code: Code): Value => loadOf(dtype, [w.address(`T${table}`), code, shifted(LOG2_BYTES[dtype]), OP.i32Add])
  if (index.type.kind === 'i32' && index.type.low >= 0 && index.type.high < length) return load(index.code)
  if (dtype === 'i64')
    throw new NotCompiled(`${expr.table}, which holds bigints, may be read outside of it, where it is undefined`, expr.span)
  const whole = w.declare('i32')
  const isInside = [I.localGet(whole), w.global(`T${table}n`), OP.i32LtU]
  let test: Code
  if (index.type.kind === 'i32') test = [index.code, I.localSet(whole), ...isInside]
  else if (index.type.kind === 'i64') {
    const wide = w.declare('i64')
    test = [
      index.code,
      I.localTee(wide),
      OP.i32WrapI64,
      I.localSet(whole),
      I.localGet(wide),
      w.global(`T${table}n`),
      OP.i64ExtendI32U,
      OP.i64LtU,
    ]
  } else {
    const given = w.declare('f64')
    const isWhole = [SATURATE.i32U, I.localTee(whole), OP.f64ConvertI32U, I.localGet(given), OP.f64Eq]
    test = [asF64(index), I.localTee(given), ...isWhole, ...isInside, OP.i32And]
  }
  const loaded = asF64(load(I.localGet(whole)))
  const isFraction = dtype === 'f64' || dtype === 'f32'
  return { type: isFraction ? MAYBE : ABSENT, code: [test, I.if('f64'), ...loaded, OP.else, I.f64Const(Number.NaN), OP.end] }
}
