import type { PortableFunction } from '../../core/functionIr.ts'
import type { Refusal } from '../../core/span.ts'
import { refusalOf } from './refusals.ts'
import type { Unit } from './unit.ts'

export function portableOf(unit: Unit): PortableFunction | Refusal {
  return refusalOf('native', unit.spanOf(unit.node))
}
