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
import { type Codes, mostTexts, numberedTexts } from './textCodes.ts'
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

/** The most entries whose indices, with null's, take a byte, and two. */
const FEW_ENTRIES = 2 ** 8 - 1
const MOST_ENTRIES = 2 ** 16 - 1

/** The texts as indices of a dictionary of their own, which are in `bytes` where they are few; undefined for texts that hardly repeat. */
export function encodedTexts(text: Column, bytes: Uint8Array, arena: Arena): Column | undefined {
  const { type, length, values, offsets, dictionary } = text
  if (dictionary !== undefined || !(values instanceof Uint8Array) || offsets === undefined) return undefined
  let places: Codes = bytes
  try {
    const firsts = numberedTexts({ ...text, values, offsets }, Math.min(MOST_ENTRIES, mostTexts(length)), arena, (numbers, from, texts) => {
      if (texts > FEW_ENTRIES && places === bytes) {
        places = new Uint16Array(length)
        places.set(bytes.subarray(0, from))
      }
      places.set(numbers, from) // a null's is another in the end
    })
    return firsts && { ...bare(text), values: places, dictionary: takeColumn({ type, length, values, offsets }, firsts) }
  } catch (error) {
    if (error instanceof MemoryError) return undefined // they stay as they are
    throw error
  }
}

function bare({ offsets: _, ...column }: Column): Column {
  return column
}
