/** Arrays whose last values may lie in other processes: what a store of arrays asks of a gang before somebody uses one. */
import type { Storage } from '../../core/arrays/storage.ts'

export interface LeftElsewhere {
  /** Brings them home, if an array is among them, before somebody reads or writes it; `pieces`: who reads it asks for no more than pieces. */
  use(storage: Storage, mode: 'read' | 'write' | 'pieces'): Promise<void>
  /** Whether that would bring some. */
  concerns(storage: Storage, mode: 'read' | 'write'): boolean
  isAway(storage: Storage): boolean
  /** Brings all of them. */
  close(): Promise<void>
}
