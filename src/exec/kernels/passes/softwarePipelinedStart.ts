/**
 * Software pipelining, the iteration that begins.
 *
 * Code of an iteration that has not begun, written while another one is: its keys, elements and locals are in places of
 * their own, and what it reaches is asked for before it is reached, so that nothing fails ahead of its time.
 */
import type { Stmt } from '../../../core/ir/functionIr.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'
import type { WasmType } from '../expressions/types.ts'
import { type Access, accessesOf, hoistedAccesses, type LoopIndex } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'

/** What of the writer belongs to an iteration. */
export interface Ahead {
  readonly keys: readonly number[]
  readonly position: number
  readonly columns: KernelWriter['columns']
  readonly slots: KernelWriter['slots']
}

/** `write` writes code of the iteration ahead. */
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
/** No subscript is the index of no loop. */
const NOWHERE: LoopIndex = { slot: 0, seen: NOTHING, held: NOTHING, is: () => false }

/** Accesses at subscripts that the iteration knows, and code before them that leaves the block around it where one is not inside. */
export function checkedAccesses(
  w: KernelWriter,
  found: ReturnType<typeof accessesOf>,
): { readonly accesses: ReadonlyMap<object, Access>; readonly code: Code } | undefined {
  const range = { limit: 0, step: 1 }
  const { accesses, setup, checks } = hoistedAccesses(w, found, { index: NOWHERE, isRun: false, changed: new Set() }, range)
  if (accesses.size < found.length) return undefined
  return { accesses, code: [checks.map((check) => [check, OP.i32Eqz, I.brIf(0)]), setup] }
}

/** Statements that write nothing, one by one; each leaves the block around it where an access of it is not inside. */
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

/** `write` writes code whose accesses are checked. */
export function knowing(w: KernelWriter, accesses: ReadonlyMap<object, Access>, write: () => Code): Code {
  const { known } = w
  w.known = new Map([...known, ...[...accesses].map(([node, access]) => [node, access.known] as const)])
  const code = write()
  w.known = known
  return code
}
