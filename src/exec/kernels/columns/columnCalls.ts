/** The platform's functions on column values, four rows at a time, or a row at a time where there is no such instruction. */
import type { Callee } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { I, SIMD } from '../../kir/instructions.ts'
import { lanesConst } from '../../kir/simd.ts'
import { HIGHEST, LOWEST, NotCompiled } from '../loops/wasmTypes.ts'
import { cutBigint, madeBigint, smallIntegers } from './columnBigints.ts'
import { bucketsOf } from './columnBuckets.ts'
import { binary } from './columnCompare.ts'
import type { ColumnValue } from './columnTypes.ts'
import { and, both, called, choose, type Doubles, doubles, numberOfBigint, numeric, truth, validOf } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'
import { dateOf } from './madeDates.ts'

export function calledColumn(w: ColumnWriter, callee: Callee, args: readonly ColumnValue[], span: Span): ColumnValue {
  const [x] = args
  if (x === undefined) throw new NotCompiled(`${callee} is called without an argument`, span)
  switch (callee) {
    case 'Math.abs':
      return both(w, [doubles(w, x)], SIMD.f64Abs)
    case 'Math.sqrt':
      return both(w, [doubles(w, x)], SIMD.f64Sqrt)
    case 'Math.ceil':
    case 'Math.floor':
    case 'Math.trunc': {
      const value = numeric(w, x)
      return value.kind === 'i32' ? value : both(w, [value], ROUND[callee])
    }
    case 'Math.round':
      return rounded(w, x)
    case 'Math.fround':
      return both(w, [doubles(w, x)], SIMD.demoteF64, SIMD.promoteF32)
    case 'Math.min':
    case 'Math.max': {
      const opcode = callee === 'Math.min' ? SIMD.f64Min : SIMD.f64Max
      return args.map((arg) => doubles(w, arg)).reduce((a, b) => doubles(w, both(w, [a, b], opcode)))
    }
    case 'Math.imul': {
      const [a, b] = [numeric(w, x), numeric(w, args[1] ?? w.number(0))]
      if (a.kind !== 'i32' || b.kind !== 'i32') throw new NotCompiled('it takes the bits of a number that need not be an integer', span)
      return { kind: 'i32', at: w.keep([...I.localGet(a.at), ...I.localGet(b.at), SIMD.i32Mul]), low: LOWEST, high: HIGHEST }
    }
    case 'Number':
      return x.kind === 'i64' ? (smallIntegers(w, x) ?? numberOfBigint(w, x)) : numeric(w, x)
    case 'BigInt':
      return madeBigint(w, x)
    case 'BigInt.asIntN':
    case 'BigInt.asUintN':
      return cutBigint(w, callee, x, args[1] ?? w.number(0))
    case 'Boolean':
      return { kind: 'bool', at: truth(w, x) }
    case 'isNaN': {
      const value = numeric(w, x)
      return value.kind === 'i32' ? w.truth(false) : { kind: 'bool', at: isNotItself(w, value) }
    }
    case 'Number.isNaN':
      return x.kind === 'f64' ? { kind: 'bool', at: isNotItself(w, x) } : w.truth(false)
    case 'isFinite':
      return { kind: 'bool', at: isFiniteNumber(w, x) }
    case 'Number.isFinite':
    case 'Number.isInteger':
    case 'Number.isSafeInteger': {
      if (x.kind !== 'f64' && x.kind !== 'i32') return w.truth(false)
      const tests = [isFiniteNumber(w, x), validOf(w, x)]
      if (callee !== 'Number.isFinite') tests.push(truth(w, binary(w, '===', x, calledColumn(w, 'Math.trunc', [x], span))))
      if (callee === 'Number.isSafeInteger') {
        tests.push(truth(w, binary(w, '<=', calledColumn(w, 'Math.abs', [x], span), w.number(Number.MAX_SAFE_INTEGER))))
      }
      return { kind: 'bool', at: tests.reduce((a, b) => and(w, a, b)) as number }
    }
    case 'Math.acos':
    case 'Math.acosh':
    case 'Math.asin':
    case 'Math.asinh':
    case 'Math.atan':
    case 'Math.atan2':
    case 'Math.atanh':
    case 'Math.cbrt':
    case 'Math.cos':
    case 'Math.cosh':
    case 'Math.exp':
    case 'Math.expm1':
    case 'Math.hypot':
    case 'Math.log':
    case 'Math.log10':
    case 'Math.log1p':
    case 'Math.log2':
    case 'Math.pow':
    case 'Math.sign':
    case 'Math.sin':
    case 'Math.sinh':
    case 'Math.tan':
    case 'Math.tanh':
    case 'Date.UTC':
      return called(w, callee, args)
    case 'new Date':
      return dateOf(w, x)
    case 'bucket':
      return bucketsOf(w, args, span)
    case 'Math.clz32':
    case 'String':
    case 'Number.parseFloat':
    case 'Number.parseInt':
    case 'parseFloat':
    case 'parseInt':
    case 'Object.is':
    case 'duration':
    case 'formatTime':
    case 'parseTime':
      throw new NotCompiled(`it calls ${callee}`, span)
  }
}

/** The integer above unless it is more than a half away: `Math.round`, -0 included. */
function rounded(w: ColumnWriter, x: ColumnValue): ColumnValue {
  const value = numeric(w, x)
  if (value.kind === 'i32') return value
  const up = doubles(w, both(w, [value], SIMD.f64Ceil))
  const below = doubles(w, binary(w, '-', up, w.number(1)))
  return choose(w, truth(w, binary(w, '>', binary(w, '-', up, w.number(0.5)), value)), below, up)
}

function isNotItself(w: ColumnWriter, value: Doubles): number {
  return truth(w, binary(w, '!==', value, value))
}

function isFiniteNumber(w: ColumnWriter, x: ColumnValue): number {
  const value = numeric(w, x)
  if (value.kind === 'i32') return w.constant(lanesConst([-1, -1, -1, -1]))
  return truth(w, binary(w, '<', both(w, [value], SIMD.f64Abs), w.number(Number.POSITIVE_INFINITY)))
}

const ROUND = { 'Math.ceil': SIMD.f64Ceil, 'Math.floor': SIMD.f64Floor, 'Math.trunc': SIMD.f64Trunc } as const
