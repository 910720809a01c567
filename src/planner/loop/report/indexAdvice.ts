/**
 * Advice to iterate over keys instead of over their places in arrays that hold them.
 *
 *     range(tokens): d = docs.get(t), w = words.get(t)      byDoc[d, k] and byWord[w, k] can be any of their rows
 *     rows.index((r) => [r.docs, r.words]): [d, w]          byDoc differs with the first axis, byWord with the second: 2d
 *
 * Tried for loops over one axis, with at most two of the arrays that give first subscripts and are read at the key only.
 */
import { type Expr, expressionsOf, type FunctionIr, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Access } from '../accesses/accesses.ts'
import type { Conflict } from '../dependence/dependence.ts'
import type { Vector } from '../dependence/reach.ts'
import { chooseSchedule, distinctVectors } from '../schedule.ts'

/** A loop over an index, as advice. */
export interface Indexed {
  readonly text: string
  /** Identities of the arrays whose conflicts the index keeps within one of its keys. */
  readonly freed: ReadonlySet<number>
}

/** Returns the index over which the loop runs in parallel, except for conflicts on arrays that it does not free; undefined for none. */
export function indexFreeing(spec: LoopSpec, ir: FunctionIr, conflicts: readonly Conflict[]): Indexed | undefined {
  if (spec.over.rank !== 1) return undefined
  const names = keyArrays(spec, ir).filter((name) => conflicts.some((conflict) => isKeyedBy(conflict, name)))
  if (names.length === 0 || names.length > 2) return undefined
  const axisOf = (conflict: Conflict): number => names.findIndex((name) => isKeyedBy(conflict, name))
  const arrays = [...new Set(conflicts.map(({ from }) => from.array))]
  const freed = arrays.filter((array) => conflicts.every((conflict) => conflict.from.array !== array || axisOf(conflict) >= 0))
  const kept = conflicts.filter(({ from }) => freed.includes(from.array))
  const left = distinctVectors(kept.map((conflict) => ({ vector: onAxis(axisOf(conflict), names.length) })))
  const { schedule } = chooseSchedule(left, { extents: names.map(() => undefined), order: 'any' })
  if (freed.length === 0 || schedule.kind === 'serial') return undefined
  const arrayNames = [...new Set(kept.map(({ from }) => from.name))]
  const columns = names.map((name) => `r.${name}`).join(', ')
  const index = `rows.index((r) => ${names.length === 1 ? columns : `[${columns}]`})`
  const whose = arrayNames.length === 1 ? 'its key' : 'their keys'
  return {
    text: `loop over ${index} with { order: 'any' }, so that ${arrayNames.join(' and ')} ${arrayNames.length === 1 ? 'is' : 'are'} read at ${whose}`,
    freed: new Set(freed),
  }
}

/** Returns the vector of iterations in conflict: the same along this axis of the index, anything along the others. */
function onAxis(axis: number, rank: number): Vector {
  return Array.from({ length: rank }, (_, at) => (at === axis ? 0 : '*'))
}

/** Whether both accesses take their first subscript, a row number, from the array. */
function isKeyedBy({ from, to }: Conflict, name: string): boolean {
  return [from, to].every(({ subscripts }: Access) => subscripts[0]?.kind === 'unknown' && subscripts[0].reads === name)
}

/** Returns the arrays that the body only reads, and only at the key. */
function keyArrays({ env }: LoopSpec, ir: FunctionIr): readonly string[] {
  const elsewhere = new Set<string>()
  const isKey = (expr: Expr | undefined): boolean => expr?.kind === 'Key'
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Write' || stmt.kind === 'Add') elsewhere.add(stmt.array)
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (node) => {
        if (node.kind === 'Has' || (node.kind === 'Read' && !(node.subscripts.length === 1 && isKey(node.subscripts[0]))))
          elsewhere.add(node.array)
      })
    }
  })
  return Object.keys(env).filter((name) => env[name]?.kind === 'array' && !elsewhere.has(name))
}
