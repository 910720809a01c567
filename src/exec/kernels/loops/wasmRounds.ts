/**
 * How the types of what changes grow from round to round of type inference: a few rounds in which bounds may settle by themselves, as those of
 * a maximum do, one that widens them to 32 bits, which tests in the body may narrow again, some for what depends on counters (`wasmCounters.ts`).
 */
import { bigintType, F64, GROWING, HIGHEST, isInteger, isSigned, joinTypes, LOWEST, type WasmType } from '../expressions/types.ts'

/** The rounds of type inference in which the bounds of changing integers may grow; after them, integers become doubles. */
export const ROUNDS_OF_INTEGERS = 8

/** The round that widens bounds that have not settled to those of 32 bits, which tests in the body may narrow again. */
export const WIDENING_ROUND = 3

/** The round in which counters that depend on themselves, as by half of what they are, get all the bounds that counters may have. */
export const LATE_ROUND = 6

/** The type for a changing local that had type `before` and is assigned a value of `type`. */
export function changing(type: WasmType, before: WasmType | undefined, round: number): WasmType {
  if (type.kind === 'bigint' && type.range === undefined) return { ...type, bits: GROWING }
  if (round === WIDENING_ROUND && type.kind === 'i32' && before?.kind === 'i32') {
    return { kind: 'i32', low: type.low < before.low ? LOWEST : before.low, high: type.high > before.high ? HIGHEST : before.high }
  }
  if (round < ROUNDS_OF_INTEGERS) return type
  if (isInteger(type)) return F64
  if (type.kind !== 'bigint' || type.range === undefined) return type
  return isSigned(type.range) ? bigintType(-(2n ** 63n), 2n ** 63n - 1n) : bigintType(0n, 2n ** 64n - 1n)
}

/** Joins a type to those noted for the name. */
export function note(types: Map<string, WasmType>, name: string, type: WasmType): void {
  const before = types.get(name)
  const all = before === undefined ? type : joinTypes(before, type)
  if (all !== undefined) types.set(name, all)
}
