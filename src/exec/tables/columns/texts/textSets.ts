/**
 * Filters that test one text alone, as sets of codes: the test runs once for each different text, and the kernel of semi-joins looks
 * the rows' codes up, sixteen at a time, where a filter kernel would compute four.
 *
 *     FilterExec r => r.city.startsWith('B')      texts  Rome Bern      codes of rows that are kept  1
 *
 * Statement: the plan without these filters, over the rows in all of the sets, has the same rows. A filter stays where codes do not fit
 * a byte, and where the function throws for any text, or returns something else than a boolean. All stay where a later function may throw:
 * its kernel would not know that the rows for which it does are dropped.
 */
import { valueReader } from '../../../../core/data/columnReaders.ts'
import { fieldsOf } from '../../../../core/data/schema.ts'
import { type FunctionIr, visitStmts } from '../../../../core/ir/functionIr.ts'
import { rowIrOf } from '../../../../core/ir/functionUse.ts'
import type { PhysicalPlan, Step } from '../../../../planner/physical/physicalPlan.ts'
import { callable } from '../../operators/rows/rowKernel.ts'
import { type ProgramSource, tableOf } from '../columnProgram.ts'
import { bitsFor, type KeySet, setBit } from '../semiJoin.ts'
import { codesOf, differentTexts } from './textCodes.ts'
import { textQuestions } from './textFunctions.ts'

export interface TextSets {
  readonly plan: PhysicalPlan
  readonly sets: readonly KeySet[]
}

/** The plan without those leading filters that can be sets, and the sets. */
export function withTextSets(plan: PhysicalPlan): TextSets {
  const table = plan.kind === 'PipelineExec' && plan.where !== 'caller' ? tableOf(plan.input) : undefined
  if (plan.kind !== 'PipelineExec' || table === undefined) return { plan, sets: [] }
  const sets: KeySet[] = []
  const others: Step[] = []
  const end = plan.steps.findIndex(({ kind }) => kind !== 'FilterExec')
  for (const [i, step] of plan.steps.entries()) {
    const own = step.kind === 'FilterExec' && (end < 0 || i < end) ? setsOf(step, table) : undefined
    if (own === undefined) others.push(step)
    else sets.push(...own)
  }
  if (sets.length === 0 || others.some(mayThrow)) return { plan, sets: [] }
  return { plan: { ...plan, steps: others }, sets }
}

function mayThrow(step: Step): boolean {
  let throws = false
  const functions = 'f' in step ? [step.f] : step.kind === 'EvaluateExec' ? step.columns.map(({ f }) => f) : []
  for (const f of functions)
    visitStmts(rowIrOf(f)?.body ?? [], ({ kind }) => {
      throws ||= kind === 'Throw'
    })
  return throws
}

function setsOf({ f }: Extract<Step, { kind: 'FilterExec' }>, table: ProgramSource): readonly KeySet[] | undefined {
  const sets = textQuestions(f, table.element)?.map(({ column, ir }) => setOf(column, ir, table))
  return sets?.every((set) => set !== undefined) ? sets : undefined
}

function setOf(on: string, ir: FunctionIr, { element, columns }: ProgramSource): KeySet | undefined {
  const text = columns[fieldsOf(element).findIndex(({ name }) => name === on)]
  const codes = codesOf(text)
  if (text === undefined || !(codes?.codes instanceof Uint8Array)) return undefined
  const read = valueReader(differentTexts(text, codes))
  const texts: unknown[] = Array.from(codes.firsts.keys(), (code) => read(code))
  const answers = answersOf(ir, text.validity === undefined ? texts : [...texts, null])
  if (answers === undefined) return undefined
  // null is in no set: where it is kept, the set has the texts that are dropped
  const anti = text.validity !== undefined && answers.at(-1) === true
  const present = bitsFor(texts.length)
  for (const [code, answer] of answers.entries()) if (answer !== anti) setBit(present, code)
  return { on, anti, window: { base: 0, span: texts.length }, present, coded: true }
}

/** The result of the function for each text; undefined where it throws, or returns no boolean. */
function answersOf(ir: FunctionIr, texts: readonly unknown[]): readonly boolean[] | undefined {
  const call = callable({ ir, text: 'a filter', span: ir.span, refusals: [] })
  try {
    const answers = texts.map((text) => call(text))
    return answers.every((answer) => typeof answer === 'boolean') ? answers : undefined
  } catch {
    return undefined // row by row it throws where it does
  }
}
