/**
 * Aggregates by the user's functions (`aggregate()`): the values of each group are folded by init, step, merge and finish.
 *
 *     step    s = step(step(step(init(), a), b), c)          in row order, of 4,096 values at most where there is a merge
 *     merge   (s0 + s1) + s2                                 pairwise, as chunks of a sum are added
 *     finish  finish(s)
 *
 * Which values a function is called with depends on the group's rows alone. A function may change the state in place, so an `init`
 * that returns one object to two groups is refused: results would depend on which task has which groups.
 */

import { CHUNK, combinePairwise } from '../../../../core/arrays/fixedTree.ts'
import type { Column } from '../../../../core/data/column.ts'
import { columnFromValues } from '../../../../core/data/columnBuilder.ts'
import { valueReader } from '../../../../core/data/columnReaders.ts'
import { Bug, PlanError } from '../../../../core/errors.ts'
import { type Folding, mapFolding } from '../../../../core/ir/folding.ts'
import type { Aggregate, ExecFunction } from '../../../../planner/physical/physicalPlan.ts'
import type { RowsById } from '../hashing/keyIds.ts'
import { RowFailure } from '../rows/rowFailure.ts'
import { callable } from '../rows/rowKernel.ts'

/** The folded value of each group; RowFailure with the row where a function of the user's throws. */
export function foldedColumn({ name, folding }: Aggregate, column: Column, { rows, starts }: RowsById): Column {
  if (folding === undefined) throw new Bug(`The aggregate "${name}" has no functions.`)
  const fold = new Fold(folding)
  const read = valueReader(column)
  const results: unknown[] = []
  for (let g = 0; g + 1 < starts.length; g++) results.push(fold.valueOf(read, rows.subarray(starts[g], starts[g + 1])))
  return columnFromValues(results, undefined, name)
}

/** The aggregate of no values. */
export function foldOfNothing(folding: Folding<ExecFunction>): unknown {
  return new Fold(folding).valueOf(() => null, new Int32Array())
}

type Call = (...args: readonly unknown[]) => unknown

class Fold {
  private readonly functions: Folding<Call>
  private readonly texts: Folding<string>
  constructor(folding: Folding<ExecFunction>) {
    this.functions = mapFolding(folding, callable)
    this.texts = mapFolding(folding, ({ text }) => text)
    const [state, another] = [this.called('init', 0, []), this.called('init', 0, [])]
    if (typeof state === 'object' && state !== null && state === another)
      throw new PlanError(
        `The init of aggregate() returns one object again and again, which groups would share: ${this.texts.init}\nMake a new one at each call, as in () => [].`,
      )
  }

  valueOf(read: (row: number) => unknown, rows: Int32Array): unknown {
    const { merge, finish } = this.functions
    const size = merge === undefined ? rows.length : CHUNK
    const states: unknown[] = []
    for (let from = 0; from < Math.max(rows.length, 1); from += Math.max(size, 1))
      states.push(this.chunk(read, rows.subarray(from, from + size)))
    const [first = 0] = rows
    const state = combinePairwise(states, (a, b) => this.called('merge', first, [a, b]))
    return finish === undefined ? state : this.called('finish', first, [state])
  }

  private chunk(read: (row: number) => unknown, rows: Int32Array): unknown {
    let state = this.called('init', rows[0] ?? 0, [])
    for (const row of rows) state = this.called('step', row, [state, read(row)])
    return state
  }

  private called(part: 'init' | 'step' | 'merge' | 'finish', row: number, args: readonly unknown[]): unknown {
    let value: unknown
    try {
      value = this.functions[part]?.(...args)
    } catch (error) {
      throw error instanceof PlanError || error instanceof Bug ? error : new RowFailure(`aggregate.${part}`, { position: row }, error)
    }
    if (value === undefined && part !== 'finish')
      throw new PlanError(
        `The ${part} of aggregate() returned undefined: ${this.texts[part]}\nReturn the state, also where it was changed in place.`,
      )
    return value
  }
}
