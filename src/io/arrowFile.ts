/**
 * Arrow IPC files and streams as sources: one split per record batch.
 */
import { type RecordBatch, RecordBatchReader, type Schema } from 'apache-arrow'
import { SourceError } from '../core/errors.ts'
import type { ArraySource, ReadSplit } from '../core/ports.ts'

export async function openArrow(_source: string | URL | readonly string[]): Promise<ArraySource> {
  throw new SourceError('not yet', '')
}
export const readArrowSplit: ReadSplit = async () => []
export type { RecordBatch, Schema }

void RecordBatchReader
