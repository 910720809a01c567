/**
 * Names of a kernel's locals, for people who read it: variables as in the body, an array's address as the array.
 */

import type { LocalNames } from '../../kir/text.ts'
import type { KernelShape } from '../js/loopKernelShape.ts'
import { FROM, type KernelWriter, LANE, SCRATCH, TO } from './wasmWriter.ts'

/** The first argument for a box, of three for each axis. */
const FIRST_AXIS = 4

/** The members of a writer that names depend on, kept without its code. */
type Named = Pick<
  KernelWriter,
  'target' | 'arrays' | 'accumulators' | 'accumulatorSlots' | 'columns' | 'globals' | 'keys' | 'parameterSlots' | 'position' | 'slots'
>

/** Returns a function that names the locals when it is called. */
export function namesOf(w: KernelWriter): () => LocalNames {
  const { target, arrays, accumulators, accumulatorSlots, columns, globals, keys, parameterSlots, position, slots } = w
  const named = { target, arrays, accumulators, accumulatorSlots, columns, globals, keys, parameterSlots, position, slots }
  return () => localNames(named)
}

function localNames(w: Named): LocalNames {
  const { shape, ir } = w.target
  const box = shape.space === 'box' ? shape.extents.flatMap((_, axis) => [`low${axis}`, `high${axis}`, `key${axis}`]) : []
  const places = shape.space === 'box' ? [] : w.keys.map((slot, axis) => [slot, `key${axis}`] as const)
  return new Map<number, string>([
    [FROM, 'from'],
    [TO, 'to'],
    [SCRATCH, 'scratch'],
    [LANE, 'lane'],
    ...box.map((name, i) => [FIRST_AXIS + i, name] as const),
    ...[...w.parameterSlots].map(([name, slot]) => [slot, name] as const),
    [w.position, 'position'],
    ...places,
    ...w.accumulatorSlots.map((slot, i) => [slot, w.accumulators[i] ?? ''] as const),
    ...[...w.slots].map(([name, slot]) => [slot, name] as const),
    ...[...w.columns].map(([column, { slot }]) => [slot, columnName(shape, column)] as const),
    ...[...w.globals].map(([name, slot]) => [slot, globalName(name, w.arrays, ir.tables, shape)] as const),
  ])
}

/** Globals: `A0` is an array's address, `A0n1` an extent, `A0s0` a stride, `D0` its copies; T tables, E columns, K keys, X the element. */
function globalName(name: string, arrays: readonly string[], tables: readonly { readonly name: string }[], shape: KernelShape): string {
  const [, kind, number, part = '', axis = ''] = /^(?:lane )?([ADTEKX])(\d*)([ns]?)(\d*)$/.exec(name) ?? []
  const suffix = part === '' ? '' : `.${part === 'n' ? 'extent' : 'stride'}${axis}`
  switch (kind) {
    case 'A':
      return `${arrays[Number(number)]}${suffix}`
    case 'D':
      return `${arrays[Number(number)]}.${name.startsWith('lane') ? 'copy' : part === 'n' ? 'copyBytes' : 'copies'}`
    case 'T':
      return `${tables[Number(number)]?.name}${part === '' ? '' : '.length'}`
    case 'E':
      return `${columnName(shape, Number(number))}.values`
    case 'K':
      return `keys${number}`
    case 'X':
      return `element.values${suffix}`
    default:
      return name
  }
}

function columnName({ element }: KernelShape, column: number): string {
  return element.kind === 'row' ? (element.columns[column]?.name ?? `column${column}`) : 'element'
}
