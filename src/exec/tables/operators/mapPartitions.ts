/** Calls the function once with all elements of a partition; the result is a table of what it yields. */
import { createBuilder } from '../../../core/data/columnBuilder.ts'
import { rowReader } from '../../../core/data/columnReaders.ts'
import { PlanError } from '../../../core/errors.ts'
import { conform, type ExecBatch, structBatch } from './batches.ts'
import type { OpenNarrow } from './operator.ts'
import { rowFailure } from './rows/rowFailure.ts'
import { callable } from './rows/rowKernel.ts'

export const mapPartitionsExec: OpenNarrow<'MapPartitionsExec'> = ({ f, element }, context) => {
  const batches: ExecBatch[] = []
  return {
    next(batch) {
      batches.push(batch)
      return undefined
    },
    end() {
      const builder = createBuilder(element.kind === 'scalar' ? element.type : undefined)
      const call = callable(f)
      let position = 0
      function* values(): Generator<unknown> {
        for (const batch of batches) {
          const read = rowReader(batch)
          for (let i = 0; i < batch.length; i++) {
            yield read(i)
            position++
          }
        }
      }
      try {
        const result = call(values(), context.partition)
        if (typeof result !== 'object' || result === null || !(Symbol.iterator in result)) {
          throw new PlanError(
            'mapPartitions: the function must return an array or another iterable, as in mapPartitions(function* (values) { … }).',
          )
        }
        for (const value of result as Iterable<unknown>) builder.append(value)
      } catch (error) {
        throw rowFailure(
          error,
          { element: { kind: 'unknown' }, length: 0, columns: [] },
          { method: 'mapPartitions', firstRow: context.firstRow, position },
          0,
        )
      }
      return conform(structBatch(builder.finish()), element)
    },
  }
}
