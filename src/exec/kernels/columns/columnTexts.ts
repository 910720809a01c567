/**
 * Text predicates that kernels compute from the bytes of a column: `includes`, `startsWith`, `endsWith` of a constant, and
 * regular expressions that are sequences of constants.
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { lanesConst } from '../../kir/simd.ts'
import { NotCompiled } from '../expressions/types.ts'
import type { ColumnValue } from './columnTypes.ts'
import { and, bool, choose } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'
import { type NeedleSequence, needleOf, sequencesOf } from './textPattern.ts'
import { search, searchLocals } from './textSearch.ts'

type MethodCall = Extract<Expr, { kind: 'MethodCall' }>

/** Compiles a text predicate that is a method call; undefined where the object is no column of text, or the method no such predicate. */
export function textMethod(
  w: ColumnWriter,
  call: MethodCall,
  object: ColumnValue,
  value: (arg: Expr) => ColumnValue,
): ColumnValue | undefined {
  if (object.kind !== 'other' || w.typeOf(object.column) !== 'utf8') return undefined
  const [start, end] = EDGES.get(call.method) ?? []
  const [arg] = call.args
  if (start === undefined || end === undefined || arg === undefined || call.args.length !== 1) return undefined
  const needle = value(arg)
  if (needle.kind !== 'constant' || typeof needle.value !== 'string')
    throw new NotCompiled('it searches for what is no constant', call.span)
  const valid = w.validity(object.column)
  if (valid !== undefined && !call.optional) throw new NotCompiled(`it calls ${call.method} of what may be null`, call.span)
  const bytes = needleOf(needle.value)
  const at = bytes.length === 0 ? bool(w.truth(true)) : matching(w, object.column, [{ needles: [bytes], start, end, oneLine: false }])
  return valid === undefined ? { kind: 'bool', at } : { kind: 'bool', at: and(w, at, valid) ?? at, valid, missing: true }
}

const EDGES: ReadonlyMap<string, readonly [NeedleSequence['start'], NeedleSequence['end']]> = new Map([
  ['includes', ['anywhere', 'anywhere']],
  ['startsWith', ['at', 'anywhere']],
  ['endsWith', ['anywhere', 'at']],
])

/** Compiles `/x/.test(text)`; null is converted to the text "null", as in JavaScript. */
export function textMatches(w: ColumnWriter, regex: Extract<Expr, { kind: 'Matches' }>, of: ColumnValue): ColumnValue {
  if (of.kind !== 'other' || w.typeOf(of.column) !== 'utf8') throw new NotCompiled('it matches what is no column of text', regex.span)
  const found: ColumnValue = { kind: 'bool', at: matching(w, of.column, sequencesOf(regex)) }
  const valid = w.validity(of.column)
  return valid === undefined ? found : choose(w, valid, found, w.truth(new RegExp(regex.pattern, regex.flags).test('null')))
}

/** The mask of lanes whose text matches one of the sequences; lanes that are not needed are not searched. */
function matching(w: ColumnWriter, column: number, sequences: readonly NeedleSequence[]): number {
  const offsets = w.address({ kind: 'offsets', column })
  const l = searchLocals(w, { values: w.address({ kind: 'values', column }), size: w.address({ kind: 'size', column }) })
  const [wanted, lane, hits] = [w.declare('i32'), w.declare('i32'), w.declare('i32')]
  const row: Code = [...w.place(offsets, 2), ...I.localGet(lane), ...I.i32Const(2), OP.i32Shl, OP.i32Add]
  const some = w.needed === undefined ? I.i32Const(15) : [...I.localGet(w.needed), SIMD.i32Bitmask]
  // after the last row there are no offsets to read
  const left: Code = [...w.rowsLeft(), ...I.localSet(lane), ...I.i32Const(15), ...I.i32Const(4), ...I.localGet(lane), OP.i32Sub, OP.i32ShrU]
  const isLast: Code = [...w.rowsLeft(), ...I.i32Const(4), OP.i32LtU]
  const hitBit: Code = [...I.localGet(hits), ...I.localGet(l.hit), ...I.localGet(lane), OP.i32Shl, OP.i32Or, ...I.localSet(hits)]
  const others = sequences.slice(1).flatMap((one): Code => [...I.localGet(l.hit), OP.i32Eqz, ...I.if(), search(w, l, one), OP.end])
  const each: Code = [
    ...[...I.localGet(wanted), ...I.localGet(lane), OP.i32ShrU, ...I.i32Const(1), OP.i32And, ...I.if()],
    ...[...row, ...I.memory(OP.i32Load), ...I.localSet(l.start), ...row, ...I.memory(OP.i32Load, 4), ...I.localSet(l.end)],
    ...[I.i32Const(0), I.localSet(l.hit), search(w, l, sequences[0] as NeedleSequence), others, hitBit, OP.end], // a pattern has one
  ]
  const next: Code = [...I.localGet(lane), ...I.i32Const(1), OP.i32Add, ...I.localTee(lane), ...I.i32Const(4), OP.i32LtU, ...I.brIf(0)]
  const bits = w.keep(
    [
      ...[some, isLast, I.if('i32'), left, OP.else, I.i32Const(15), OP.end, OP.i32And, I.localSet(wanted), I.i32Const(0), I.localSet(hits)],
      ...[I.localGet(wanted), I.if(), I.i32Const(0), I.localSet(lane), I.loop, each, next, OP.end, OP.end, I.localGet(hits)],
    ],
    'i32',
  )
  const ones = w.constant(lanesConst([1, 2, 4, 8]))
  return w.keep([...I.localGet(bits), SIMD.i32Splat, ...I.localGet(ones), SIMD.and, ...I.localGet(ones), SIMD.i32Eq])
}

/** Compiles the right side of an operator, or a side of a condition, of which only the lanes in `mask` are needed. */
export function asked(w: ColumnWriter, mask: number, ask: () => ColumnValue): ColumnValue {
  const before = w.needed
  w.needed = and(w, before, mask)
  try {
    return ask()
  } finally {
    w.needed = before
  }
}
