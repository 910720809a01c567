/** Reductions of a program's one column of numbers, by their definitions in `core/arrays/folds.ts`. */
import type { Folded, FoldKind } from '../../../core/engine.ts'
import type { ColumnRun, Selected } from './columnRun.ts'

/** The fold; undefined when the program's kernels cannot compute it. */
export async function foldColumns(run: ColumnRun, kind: FoldKind): Promise<Folded | undefined> {
  const { shape } = run.program
  if (kind !== 'count' && !(shape.scalar && isNumber(run))) return undefined
  if (shape.dates === true) return undefined // some may be invalid, which only making a table of them finds out
  const found = await folded(run, kind)
  return run.isInvalid ? undefined : found // the row loop's error has the row
}

async function folded(run: ColumnRun, kind: FoldKind): Promise<Folded | undefined> {
  const { shape, rows } = run.program
  const [output] = shape.outputs
  // where no other kernel computes what the function returns, a selection of all rows finds out whether it throws
  const isChecked = shape.throws === true && !shape.filters && (kind === 'count' || output?.kind === 'column')
  if (isChecked && (await run.select({ skipsNulls: false, evenAll: true })) === undefined) return undefined
  if (kind === 'sum' && !run.isBig) {
    const found = await run.sum()
    return found === undefined ? undefined : { value: found.sum, count: found.total }
  }
  const evenAll = kind === 'min' || kind === 'max' || kind === 'sum'
  const selected = await run.select({ skipsNulls: kind !== 'count', evenAll })
  if (selected === undefined) return undefined
  const count = selected === 'all' ? rows : selected.total
  if (kind === 'count') return { value: count, count }
  // no values: elements decide whether the sum is 0 or 0n
  if (count === 0) return run.isBig ? undefined : { value: undefined, count }
  const value = await foldedValue(run, kind, selected)
  return value === undefined ? undefined : { value, count }
}

async function foldedValue(run: ColumnRun, kind: 'sum' | 'min' | 'max', selected: Selected | 'all'): Promise<number | bigint | undefined> {
  if (selected === 'all') return undefined
  return kind === 'sum' ? await run.bigSum(selected) : await run.extreme(kind, selected)
}

/** Numbers, booleans, and columns of 64-bit integers. */
function isNumber({ program }: ColumnRun): boolean {
  const [output] = program.shape.outputs
  if (output?.kind !== 'column') return output !== undefined
  return NUMBERS.has(program.columns[output.column]?.type.kind ?? 'null')
}

const NUMBERS: ReadonlySet<string> = new Set(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'bool', 'i64'])
