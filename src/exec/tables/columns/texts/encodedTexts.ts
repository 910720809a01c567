/**
 * Dictionary encoding of texts of files as they are read, on the worker that reads them: keys of groups are whole numbers then, and
 * functions are called once for each text. The texts of rows are not kept.
 *
 *     split 0   b a b c     places  0 1 0 2   of [b a c]
 *     split 1   c c a       places  0 0 1     of [c a]
 *
 * Texts that hardly repeat stay as they are.
 */
import type { Column } from '../../../../core/data/column.ts'
import { takeColumn } from '../../../../core/data/columnSlices.ts'
import type { ElementType } from '../../../../core/data/schema.ts'
import { MemoryError } from '../../../../core/errors.ts'
import { columnsRead } from '../../../../core/ir/functionUse.ts'
import type { PhysicalPlan, Step } from '../../../../planner/physical/physicalPlan.ts'
import type { Arena } from '../../../memory/arena.ts'
import { GroupMemory } from '../../operators/groupBy/groupMemory.ts'
import { arenaTables } from '../../operators/hashing/arenaIds.ts'
import type { Codes } from './textCodes.ts'
import { textFunctionsOf } from './textFunctions.ts'

/** The columns of a scan below a pipeline whose equal texts need to be read once: keys of groups are computed from them, or functions of a text. */
export function repeatedlyRead(plan: PhysicalPlan): ReadonlySet<string> {
  if (plan.kind !== 'PipelineExec' || plan.input.kind !== 'ScanExec') return new Set()
  const { input, steps } = plan
  const found = textFunctionsOf(withoutNulls(input.element), steps)?.functions ?? []
  const ofTexts = found.flatMap(({ column, several = [column], found, spanMs }) =>
    found === undefined && spanMs === undefined ? several : [],
  )
  return new Set([...ofTexts, ...steps.flatMap((step) => keysOf(step, input.columns))])
}

/** The type of rows if no column had nulls. */
function withoutNulls(element: ElementType): ElementType {
  return element.kind === 'row' ? { ...element, fields: element.fields.map((field) => ({ ...field, nullable: false })) } : element
}

/** The columns that the keys of groups are computed from in this step. */
function keysOf(step: Step, all: readonly string[]): readonly string[] {
  if (step.kind === 'PartialDistinctExec') return all
  const keys = step.kind === 'EvaluateExec' ? step.columns.filter(({ use }) => use === 'group') : []
  return keys.flatMap(({ f }) => {
    const read = columnsRead(f)
    return read === 'all' ? all : [...read]
  })
}

/** Rows that are encoded at a time, a multiple of eight. */
const STRIDE = 2 ** 14
/** The most entries of a dictionary: one for `ROWS_PER_ENTRY` rows, but `FEW_ENTRIES` always, and with null's no more than two bytes count. */
const ROWS_PER_ENTRY = 8
const FEW_ENTRIES = 255
const MOST_ENTRIES = 2 ** 16 - 1

/** The texts as indices of a dictionary of their own, which are in `bytes` where they are few; undefined for texts that hardly repeat. */
export function encodedTexts(text: Column, bytes: Uint8Array, arena: Arena): Column | undefined {
  const { length, values, offsets, validity, dictionary } = text
  if (dictionary !== undefined || !(values instanceof Uint8Array) || offsets === undefined) return undefined
  const most = Math.min(MOST_ENTRIES, Math.max(FEW_ENTRIES, Math.floor(length / ROWS_PER_ENTRY)))
  const memory = new GroupMemory(arena, 'texts of files')
  try {
    const tables = arenaTables(memory)
    const [texts, ids] = [tables.texts(), tables.ids(Math.min(length, STRIDE))]
    const firsts: number[] = []
    let places: Codes = bytes
    for (let from = 0; from < length; from += STRIDE) {
      const rows = Math.min(STRIDE, length - from)
      const bits = validity?.subarray(from >> 3, (from + rows + 7) >> 3)
      if (bits !== undefined) ids.fill(-1)
      texts.encode(values, offsets.subarray(from, from + rows + 1), ids, { begin: 0, end: rows, unknown: 'add', validity: bits })
      if (texts.size > most) return undefined
      if (texts.size > FEW_ENTRIES && places === bytes) {
        places = new Uint16Array(length)
        places.set(bytes.subarray(0, from))
      }
      for (let i = 0; i < rows; i++) {
        const id = ids[i] as number // i < rows
        if (id === firsts.length) firsts.push(from + i)
        places[from + i] = Math.max(0, id) // a null's is another in the end
      }
    }
    const entries = takeColumn({ type: text.type, length, values, offsets }, Int32Array.from(firsts))
    return { ...bare(text), values: places, dictionary: entries }
  } catch (error) {
    if (error instanceof MemoryError) return undefined
    throw error
  } finally {
    memory.end()
  }
}

function bare({ offsets: _, ...column }: Column): Column {
  return column
}
