/**
 * Texts of files that a plan only tests in filters. When a split is read, each row gets the number of its text's answers to these
 * questions, computed once for each entry of the split's dictionary. Any text with the same answers may stand for it, so dictionaries of
 * splits need not be merged.
 *
 *     FilterExec r => r.town === 'Bern'       split 0   [Rome Bern]   places 0 1 1   numbers 0 1 1
 *     EvaluateExec r => r.spent               split 1   [Bern Oslo]   places 1 0     numbers 0 1        texts  0 ''   1 Bern
 *
 * Number 0 has the answers of the empty text, which are also those of null. Statement: filters keep the same rows as over the file's texts.
 */
import { isUtf8 } from 'node:buffer'
import { type Column, isValid } from '../../../../core/data/column.ts'
import { columnFromValues } from '../../../../core/data/columnBuilder.ts'
import type { FunctionIr } from '../../../../core/ir/functionIr.ts'
import { columnsRead } from '../../../../core/ir/functionUse.ts'
import { once } from '../../../../core/once.ts'
import type { TextNumbers } from '../../../../core/ports.ts'
import type { PhysicalPlan, Step } from '../../../../planner/physical/physicalPlan.ts'
import type { Arena } from '../../../memory/arena.ts'
import { callable } from '../../operators/rows/rowKernel.ts'
import type { ResultBlocks } from '../resultBlocks.ts'
import { type ComparedTexts, comparedTexts } from './comparedTexts.ts'
import { writeCodes } from './loadedTexts.ts'
import { codesOfUnspelled, unspelled } from './spelledTexts.ts'
import { type Codes, giveCodes } from './textCodes.ts'
import { textQuestions } from './textFunctions.ts'

/** The questions about each text of a column. */
export interface Asked {
  readonly questions: readonly FunctionIr[]
  /** The answers of the empty text, a bit for each question. */
  readonly base: number
  /** Present where the questions only compare a text with constants. */
  readonly compared?: ComparedTexts
}

/** The most questions: one vector has a byte for each combination of answers. */
const MOST_QUESTIONS = 4

/** The columns of a Parquet file, by name, whose texts are tested by the filters of a pipeline over it, and read by nothing else. */
export function askedTexts(plan: PhysicalPlan): ReadonlyMap<string, Asked> {
  const asked = new Map<string, Asked>()
  if (plan.kind !== 'PipelineExec' || plan.where === 'caller') return asked
  const { input, steps } = plan
  if (input.kind !== 'ScanExec' || input.source.kind !== 'parquet') return asked
  const end = steps.findIndex(({ kind }) => kind !== 'FilterExec')
  const read = readBy(steps[end])
  if (read === undefined) return asked
  const questions = new Map<string, FunctionIr[]>()
  for (const step of steps.slice(0, end)) {
    if (step.kind !== 'FilterExec') continue
    const own = textQuestions(step.f, input.element)
    const others = own === undefined ? columnsRead(step.f) : []
    if (others === 'all') return asked
    for (const name of others) read.add(name)
    for (const { column, ir } of own ?? []) questions.set(column, [...(questions.get(column) ?? []), ir])
  }
  for (const [column, own] of questions) {
    const answer = answering(own)
    const base = own.length > MOST_QUESTIONS || read.has(column) ? undefined : answer('')
    if (base === undefined || answer(null) !== base) continue
    const compared = comparedTexts(own, (text) => {
      const bits = answer(text)
      return bits === undefined ? undefined : bits ^ base
    })
    asked.set(column, { questions: own, base, ...(compared && { compared }) })
  }
  return asked
}

/** The columns that a step reads, where it hands on no others; undefined for a step that may hand on any. */
function readBy(step: Step | undefined): Set<string> | undefined {
  switch (step?.kind) {
    case 'ProjectExec':
      return new Set(step.columns)
    case 'MapExec':
      return readByAll([step.f])
    case 'EvaluateExec':
      return step.payload === true
        ? undefined
        : readByAll(
            step.columns.map(({ f }) => f),
            step.payload === false ? [] : step.payload,
          )
    default:
      return undefined
  }
}

function readByAll(functions: readonly Parameters<typeof columnsRead>[0][], others: readonly string[] = []): Set<string> | undefined {
  const read = new Set(others)
  for (const f of functions) {
    const own = columnsRead(f)
    if (own === 'all') return undefined
    for (const name of own) read.add(name)
  }
  return read
}

/** A function from a text to its answers, a bit for each question; it returns undefined where a question throws, or returns no boolean. */
function answering(questions: readonly FunctionIr[]): (text: unknown) => number | undefined {
  const calls = questions.map((ir) => callable({ ir, text: 'a filter', span: ir.span, refusals: [] }))
  return (text) => {
    let bits = 0
    try {
      for (const [i, call] of calls.entries()) {
        const answer = call(text)
        if (typeof answer !== 'boolean') return undefined
        if (answer) bits |= 1 << i
      }
    } catch {
      return undefined // over rows it throws at the right row
    }
    return bits
  }
}

/** Numbers the texts of splits by their answers. */
export class AnsweredTexts implements TextNumbers {
  /** A text for each number that was seen. */
  readonly texts: string[] = []
  private readonly answer: () => (text: unknown) => number | undefined
  private readonly base: number
  /** The numbers of texts, by their bytes as Latin-1 characters. */
  private readonly known = new Map<string, number>()
  /** The constants' bytes and numbers, and the number of all other texts; undefined where more is asked than whether a text is a constant. */
  private readonly compared: { readonly constants: readonly NumberedBytes[]; readonly other: number } | undefined

  constructor({ questions, base, compared }: Asked) {
    this.answer = once(() => answering(questions))
    this.base = base
    if (compared === undefined) return
    const { constants, other } = compared
    this.compared = { constants: constants.map(({ text, number }) => ({ bytes: Buffer.from(text), number })), other: other.number }
    for (const { text, number } of [...constants, other]) this.texts[number] = text
  }

  /** Writes the numbers of a part's rows; false where it is not dictionary encoded, or an entry has no number. May overwrite the part's indices. */
  write(part: Column, numbers: Uint8Array, { firstRow, arena }: { readonly firstRow: number; readonly arena: Arena }): boolean {
    const { dictionary, values, offsets, length } = part
    if (dictionary === undefined && offsets === undefined && values !== undefined) return true // the numbers are there
    const map = dictionary && this.numbersOf(dictionary)
    if (map === undefined) return false
    const places = values as Codes // indices, as it is dictionary encoded
    const nulls: number[] = []
    if (part.validity !== undefined) for (let i = 0; i < length; i++) if (!isValid(part, i)) nulls.push(i)
    for (const row of nulls) places[row] = 0 // any index that has a number
    writeCodes(part, map, numbers, { firstRow, arena })
    for (const row of nulls) numbers[firstRow + row] = 0
    return true
  }

  ofPlain(texts: Uint8Array, count: number): Uint16Array | undefined {
    const { compared } = this
    const bytes = Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength)
    const map = new Uint16Array(count + 1)
    let at = 0
    for (let entry = 0; entry < count; entry++) {
      const from = at + LENGTH_BYTES
      const length = from > bytes.length ? MOST_LENGTH : bytes.readUInt32LE(at)
      if (length >= MOST_LENGTH || length > bytes.length - from) return undefined
      at = from + length
      const number = compared === undefined ? this.numberOf(bytes, from, at) : comparedNumber(compared, bytes, from, at)
      if (number === undefined) return undefined
      map[entry] = number
    }
    // lengths are characters of one byte, so each text by itself is UTF-8 if all bytes together are
    return isUtf8(bytes.subarray(0, at)) ? map : undefined
  }

  /** The number of each entry, and behind them that of null; undefined where an entry has none. */
  private numbersOf({ length, values, offsets }: Column): Uint16Array | undefined {
    const map = new Uint16Array(length + 1)
    const bytes = values === undefined ? Buffer.alloc(0) : Buffer.from(values.buffer, values.byteOffset, values.byteLength)
    for (let entry = 0; entry < length; entry++) {
      const number = this.numberOf(bytes, offsets?.[entry] ?? 0, offsets?.[entry + 1] ?? 0)
      if (number === undefined) return undefined
      map[entry] = number
    }
    return map
  }

  /** The number of the text of these bytes; undefined where it has no answers. */
  private numberOf(bytes: Buffer, from: number, to: number): number | undefined {
    const key = bytes.toString('latin1', from, to)
    const known = this.known.get(key)
    if (known !== undefined) return known
    const text = bytes.toString('utf8', from, to)
    const bits = this.answer()(text)
    if (bits === undefined) return undefined
    const number = bits ^ this.base
    this.known.set(key, number)
    this.texts[number] ??= text
    return number
  }
}

/** Bytes of the length before a text of a page, and the least length whose bytes are not all ASCII. */
const [LENGTH_BYTES, MOST_LENGTH] = [4, 128]

interface NumberedBytes {
  readonly bytes: Buffer
  readonly number: number
}

function comparedNumber(
  { constants, other }: { readonly constants: readonly NumberedBytes[]; readonly other: number },
  texts: Buffer,
  from: number,
  to: number,
): number {
  for (const { bytes, number } of constants) if (bytes.length === to - from && bytes.compare(texts, from, to) === 0) return number
  return other
}

/** The column of texts that the numbers of rows stand for, dictionary encoded by these numbers. */
export function answeredColumn(numbers: Column, { questions }: Asked, seen: readonly (readonly string[])[], blocks: ResultBlocks): Column {
  // the empty text stands for number 0, and for numbers that no row has
  const texts = Array.from({ length: 2 ** questions.length }, (_, number) =>
    number === 0 ? '' : (seen.find((own) => own[number] !== undefined)?.[number] ?? ''),
  )
  const whole = unspelled(numbers.values as Codes, columnFromValues(texts, { kind: 'utf8' }), blocks) // of one byte, as it was made
  giveCodes(whole.column, codesOfUnspelled(whole.column, new Int32Array(texts.length), whole.texts))
  return whole.column
}
