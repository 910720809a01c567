/** The reason why something is not computed over columns, as a value, which `explain({ analyze: true })` prints. */
import type { NotColumns } from '../../kernels/columns/programShape.ts'

/** Whether a result is the reason why there is none. */
export function isRefused(result: object): result is NotColumns {
  return 'because' in result
}

export function refused(because: string): NotColumns {
  return { because, span: undefined }
}

/** Partition after partition there may be enough. */
export const SHORT_OF_MEMORY: NotColumns = refused('memory is short for whole columns')

export const NO_ROOM: NotColumns = refused('there was no room for the table in the session’s memory')
