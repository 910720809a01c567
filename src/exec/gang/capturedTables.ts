/** Copies of tables that a body captures, since the program may change these at any time. */
import type { Primitive } from '../../core/ir/functionIr.ts'
import { unshared } from './definition.ts'

export function copied(table: ArrayLike<Primitive>): ArrayLike<Primitive> {
  return Array.isArray(table) ? [...table] : ArrayBuffer.isView(table) ? unshared((table as unknown as Uint8Array).slice() as never) : table
}

export function sameTable(a: ArrayLike<Primitive>, b: ArrayLike<Primitive> | undefined): boolean {
  if (b === undefined || a.length !== b.length || a.constructor !== b.constructor) return false
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false
  return true
}
