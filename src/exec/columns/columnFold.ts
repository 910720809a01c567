/** Reductions of a program's one column of numbers, by their definitions in `core/folds.ts`. */
import type { Folded, FoldKind } from '../../core/engine.ts'
import type { ColumnRun } from './columnRun.ts'

/** The fold; undefined when the program's kernels cannot compute it. */
export async function foldColumns(run: ColumnRun, kind: FoldKind): Promise<Folded | undefined> {
  const { shape, rows } = run.program
  if (kind !== 'count' && !(shape.scalar && isNumber(run))) return undefined
  const selected = await run.select({ skipsNulls: kind !== 'count', evenAll: kind === 'min' || kind === 'max' })
  if (selected === undefined) return undefined
  const count = selected === 'all' ? rows : selected.total
  if (kind === 'count') return { value: count, count }
  if (count === 0) return { value: kind === 'sum' ? 0 : undefined, count }
  const value = kind === 'sum' ? await run.sum(selected) : selected === 'all' ? undefined : await run.extreme(kind, selected)
  return value === undefined ? undefined : { value, count }
}

/** Numbers and booleans: bigints are added as bigints. */
function isNumber({ program }: ColumnRun): boolean {
  const [output] = program.shape.outputs
  if (output?.kind !== 'column') return output !== undefined
  return NUMBERS.has(program.columns[output.column]?.type.kind ?? 'null')
}

const NUMBERS: ReadonlySet<string> = new Set(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'bool'])
