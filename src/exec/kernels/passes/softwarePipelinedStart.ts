/**
 * Software pipelining, the iteration that begins.
 *
 * Code of an iteration that has not begun, written while another one is: its keys, elements and locals are in locals of
 * its own, and its accesses are checked before they are made, so that nothing fails early.
 */
import type { Stmt } from '../../../core/ir/functionIr.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'
import type { WasmType } from '../expressions/types.ts'
import { type Access, accessesOf, hoistedAccesses, type LoopIndex } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'

/** The members of the writer that belong to an iteration, as the next iteration has them. */
export interface Ahead {
  readonly keys: readonly number[]
  readonly position: number
  readonly columns: KernelWriter['columns']
  readonly slots: KernelWriter['slots']
}

/** Runs `write` with the writer in the state of the next iteration. */
export function asAhead<T>(w: KernelWriter, ahead: Ahead, write: () => T): T {
  const { keys, position, columns, slots } = w
  Object.assign(w, ahead)
  try {
    return write()
  } finally {
    Object.assign(w, { keys, position, columns, slots })
  }
}

export const NOTHING: WasmType = { kind: 'i32', low: 0, high: 0 }
/** The index of no loop: no subscript is affine in it. */
const NOWHERE: LoopIndex = { slot: 0, seen: NOTHING, held: NOTHING, is: () => false }

/** Resolves accesses, with code that leaves the block around it where one is out of bounds; undefined where it cannot resolve one. */
export function checkedAccesses(
  w: KernelWriter,
  found: ReturnType<typeof accessesOf>,
): { readonly accesses: ReadonlyMap<object, Access>; readonly code: Code } | undefined {
  const range = { limit: 0, step: 1 }
  const { accesses, setup, checks } = hoistedAccesses(w, found, { index: NOWHERE, isRun: false, changed: new Set() }, range)
  if (accesses.size < found.length) return undefined
  return { accesses, code: [checks.map((check) => [check, OP.i32Eqz, I.brIf(0)]), setup] }
}

/** Writes the statements of a head, one by one; each leaves the block around it where one of its accesses is out of bounds. */
export function headCode(w: KernelWriter, head: readonly Stmt[]): Code | undefined {
  const code: Code[] = []
  for (const stmt of head) {
    const checked = checkedAccesses(w, accessesOf([stmt]))
    if (checked === undefined) return undefined
    code.push(
      checked.code,
      knowing(w, checked.accesses, () => w.block([stmt])),
    )
  }
  return code
}

/** Runs `write`, which writes code with accesses that are already checked. */
export function knowing(w: KernelWriter, accesses: ReadonlyMap<object, Access>, write: () => Code): Code {
  const { known } = w
  w.known = new Map([...known, ...[...accesses].map(([node, access]) => [node, access.known] as const)])
  const code = write()
  w.known = known
  return code
}
