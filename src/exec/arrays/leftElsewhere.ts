/** Arrays whose last values may lie in other processes: what a store of arrays asks of a gang before somebody uses one. */
import type { Storage } from '../../core/arrays/storage.ts'

export interface LeftElsewhere {
  /** Fetches an array's last values, if they lie elsewhere, before somebody reads or writes it; 'pieces': who reads wants pieces only. */
  use(storage: Storage, mode: 'read' | 'write' | 'pieces'): Promise<void>
  /** Whether `use` would fetch any values. */
  concerns(storage: Storage, mode: 'read' | 'write'): boolean
  isAway(storage: Storage): boolean
  /** Fetches the last values of all arrays. */
  close(): Promise<void>
}
