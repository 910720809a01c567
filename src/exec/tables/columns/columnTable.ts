/** The result of a column program as a table, which workers write into blocks of the arena. */
import type { Column } from '../../../core/data/column.ts'
import { type ColumnType, typeText } from '../../../core/data/schema.ts'
import { computedType, elementNames, type NotColumns, type ProgramOutput } from '../../kernels/columns/programShape.ts'
import { BLOCK_ROWS, valuesKernel } from '../../kernels/columns/wasmColumns.ts'
import { type ExecBatch, hiddenBatch, rowBatch, scalarBatch } from '../operators/batches.ts'
import { structColumn } from '../operators/rows/rowKernel.ts'
import { popcount } from './bitmap.ts'
import type { CodedKeys, ColumnProgram } from './columnProgram.ts'
import { type ColumnRun, compiledKernel, type Selected } from './columnRun.ts'
import { type Compacted, compactFold } from './columnTask.ts'
import { addressOf } from './kernelBinding.ts'
import { isText } from './loadTask.ts'
import { NO_ROOM, refused } from './refused.ts'
import { ResultBlocks } from './resultBlocks.ts'
import { isUnspelled } from './texts/spelledTexts.ts'
import { codesOf, kindOf } from './texts/textCodes.ts'
import type { CompactedText } from './texts/textTask.ts'

export interface ProgramTable {
  readonly batch: ExecBatch
  /** Present where parts of the first hidden column are encoded. */
  readonly coded?: CodedKeys
  /** The blocks of the result, which the caller owns; columns of the source that are handed on lie elsewhere. */
  readonly blocks: ResultBlocks
}

/** The result, or why the program's kernels cannot make it. */
export async function programTable(run: ColumnRun): Promise<ProgramTable | NotColumns> {
  const { program } = run
  const drops = program.shape.filters || run.keySets.length > 0
  const odd = program.shape.outputs.find(
    (output) => widthOf(output, program) === undefined && !isSpelledText(output, program) && !isNothing(output, program),
  )
  if (drops && odd?.kind === 'column')
    return refused(`rows are kept of a column of ${typeText(program.columns[odd.column]?.type ?? { kind: 'unknown' })}`)
  // where no other kernel computes Dates that steps make, a selection of all rows finds out whether they are valid, and of functions whether one throws
  const evenAll = (program.shape.dates === true || program.shape.throws === true) && computedOf(program).length === 0
  const kept = await run.select({ skipsNulls: false, evenAll })
  if (kept === undefined) return NO_ROOM
  if (run.isInvalid) return whyRows(program)
  const selected = drops ? kept : 'all'
  const blocks = new ResultBlocks(run.arena, program.name)
  try {
    const columns = selected === 'all' ? await allRows(run, blocks) : await selectedRows(run, blocks, selected)
    const [first] = columns ?? []
    if (run.isInvalid) {
      blocks.freeAll()
      return whyRows(program)
    }
    if (columns !== undefined && first !== undefined) {
      const { coded } = program
      return { batch: batchOf(program, columns, first), blocks, ...(coded === undefined ? {} : { coded }) }
    }
    blocks.freeAll()
    return NO_ROOM
  } catch (error) {
    blocks.freeAll()
    throw error
  }
}

/** Why the row loop does the work of a program in which a kernel has found what it cannot store, or a row that fails. */
function whyRows({ shape: { dates, throws } }: ColumnProgram): NotColumns {
  if (throws !== true) return refused('a Date that it makes is invalid')
  return refused(dates === true ? 'a Date that it makes is invalid, or it throws' : 'it throws for a row')
}

function batchOf({ shape }: ColumnProgram, columns: readonly Column[], first: Column): ExecBatch {
  const names = shape.outputs.map(({ name }) => name)
  if (shape.hidden === undefined) return shape.scalar ? scalarBatch(first) : rowBatch(names, columns, first.length)
  const columnOf = (output: string): Column => columns[names.indexOf(output)] as Column // the outputs are those of the hidden columns
  const hidden = shape.hidden.map((one) => {
    if (one.kind === 'value') return columnOf(one.output)
    const fields = one.fields.map(({ output }) => columnOf(output))
    return structColumn(
      one.fields.map(({ name }) => name),
      fields,
      first.length,
    )
  })
  if (shape.payload === undefined) return hiddenBatch(hidden)
  const elements = columns.slice(0, shape.payload)
  const [value = first] = elements
  if (shape.scalar) return { ...scalarBatch(value), hidden }
  return { ...rowBatch(elementNames(names, shape.payload), elements, first.length), hidden }
}

type Computed = Extract<ProgramOutput, { kind: 'computed' }>

function computedOf({ shape }: ColumnProgram): readonly Computed[] {
  return shape.outputs.flatMap((output) => (output.kind === 'computed' ? [output] : []))
}

/** The names of computed outputs that are wanted as integers. */
function integersOf(computed: readonly Computed[]): readonly string[] {
  return computed.flatMap(({ name, type }) => (type === 'i32' ? [name] : []))
}

async function allRows(run: ColumnRun, blocks: ResultBlocks): Promise<readonly Column[] | undefined> {
  const { element, kernelColumns, steps, shape, columns, rows } = run.program
  const computed = computedOf(run.program)
  const made = new Map<string, Column>()
  for (const output of computed) {
    const column = madeColumn(run, blocks, output, rows)
    if (column === undefined) return undefined
    made.set(output.name, column)
  }
  const kept = made.size
  if (kept > 0) {
    const options = { outputs: computed.map((output) => output.name), asDoubles: false, sparse: false, integers: integersOf(computed) }
    const kernel = compiledKernel(valuesKernel, element, kernelColumns, steps, options)
    const places = computed.map(({ name, nullable }) => {
      const column = made.get(name)
      const counts = nullable ? run.allocate(4 * Math.ceil(rows / BLOCK_ROWS)) : undefined
      const validity = addressOf(column?.validity, run.arena)
      const values = addressOf(column?.values, run.arena) ?? 0
      return counts === undefined || validity === undefined ? { values } : { values, validity, counts }
    })
    const bound = run.bound(kernel, { outputs: places })
    if (bound === undefined) return undefined
    await run.together({ kind: 'blocks', kernel: bound }, run.units(rows), [])
    for (const [i, { name }] of computed.entries()) {
      const column = made.get(name)
      const counts = places[i]?.counts
      // as in columns made row by row, there is no bitmap where there is no null
      if (column !== undefined && counts !== undefined && presentIn(run, counts) === rows) made.set(name, blocks.withoutValidity(column))
    }
  }
  const outputs: Column[] = []
  for (const output of shape.outputs) {
    if (output.kind === 'computed')
      outputs.push(await withTexts(run, blocks, made.get(output.name) as Column)) // made above
    else outputs.push(await withTexts(run, blocks, columns[output.column] as Column)) // of the program
  }
  return outputs
}

/** An empty column for a computed output: for texts with codes of the run's dictionary; undefined where that would be too long. */
function madeColumn(run: ColumnRun, blocks: ResultBlocks, output: Pick<Computed, 'type' | 'nullable'>, length: number): Column | undefined {
  const { type } = output
  if (type !== 'utf8') return blocks.column(type, length, output)
  const dictionary = run.chosenTexts
  return dictionary && { ...blocks.column('i32', length, output), type: computedType(type), dictionary }
}

/** The column, with texts' bytes in place of dictionary codes alone. */
async function withTexts(run: ColumnRun, blocks: ResultBlocks, column: Column): Promise<Column> {
  if (!isUnspelled(column)) return column
  const texts = await run.spelled(column, blocks)
  blocks.free(column.values)
  return texts
}

/** The number of values of a column that are not null, from the counts of its blocks. */
function presentIn({ program, arena }: ColumnRun, counts: number): number {
  return (arena.view('i32', counts, Math.ceil(program.rows / BLOCK_ROWS)) as Int32Array).reduce((a, b) => a + b, 0)
}

async function selectedRows(run: ColumnRun, blocks: ResultBlocks, selected: Selected): Promise<readonly Column[] | undefined> {
  const { program } = run
  const { element, kernelColumns, steps, shape, rows } = program
  const computed = computedOf(program)
  const compacted: Compacted[] = []
  const texts: TextOutput[] = []
  const made: Column[] = []
  for (const output of shape.outputs) {
    if (isNothing(output, program)) {
      made.push({ type: { kind: 'null' }, length: selected.total })
      continue
    }
    if (output.kind === 'column' && isSpelledText(output, program)) {
      const text = textOutput(run, blocks, selected, program.columns[output.column] as Column) // of the program
      if (text === undefined) return undefined
      if (text.bits !== undefined) compacted.push(text.bits)
      texts.push({ ...text, at: made.length })
      made.push(text.column)
      continue
    }
    const source = output.kind === 'column' ? program.columns[output.column] : undefined
    const address = source === undefined ? 0 : addressOf(source.values, run.arena)
    const log2Bytes = widthOf(output, program)
    if (log2Bytes === undefined || address === undefined) return undefined
    const whole: Column | undefined =
      output.kind === 'computed'
        ? madeColumn(run, blocks, { type: output.type, nullable: false }, selected.total)
        : source?.values === undefined
          ? blocks.column('f64', selected.total, { nullable: false })
          : {
              ...{ type: source.type, length: selected.total, values: blocks.like(source.values, selected.total) },
              ...(source.dictionary && { dictionary: source.dictionary }),
            }
    if (whole === undefined) return undefined
    const column = output.nullable ? { ...whole, validity: blocks.emptyBits(selected.total) } : whole
    made.push(column)
    const bits = addressOf(source?.validity, run.arena)
    const from =
      output.kind === 'computed' ? { output: computed.indexOf(output) } : { address, ...(bits === undefined ? {} : { validity: bits }) }
    if (source?.validity !== undefined && bits === undefined) return undefined
    const validity = column.validity === undefined ? {} : { validity: column.validity.byteOffset }
    compacted.push({ from, values: { log2Bytes, to: column.values?.byteOffset ?? 0 }, ...validity })
  }
  const options = { outputs: computed.map((output) => output.name), asDoubles: false, sparse: true, integers: integersOf(computed) }
  const kernel =
    computed.length === 0 ? undefined : run.bound(compiledKernel(valuesKernel, element, kernelColumns, steps, options), selected)
  if (computed.length > 0 && kernel === undefined) return undefined
  const widths = compacted.flatMap(({ values }) => (values === undefined ? [] : compactFold(values)))
  const folds = [...new Set([...widths, ...(compacted.some(({ validity }) => validity !== undefined) ? (['compactBits'] as const) : [])])]
  const work = { kind: 'compact', columns: compacted, selection: selected, ...(kernel === undefined ? {} : { kernel }) } as const
  if (compacted.length > 0) await run.together(work, run.units(rows), folds)
  for (const [i, column] of (await textColumns(run, blocks, selected, texts)).entries()) made[texts[i]?.at ?? 0] = column
  const outputs: Column[] = []
  for (const column of made) {
    const whole = hasNulls(column) ? column : blocks.withoutValidity(column)
    outputs.push(await withTexts(run, blocks, whole))
  }
  return outputs
}

interface TextOutput {
  /** The column without its bytes. */
  readonly column: Column
  readonly text: CompactedText
  /** The work that compacts its bitmap; absent where the source has none. */
  readonly bits?: Compacted
  /** Its index among the columns. */
  readonly at: number
}

/** A column of text for the selected rows, before its bytes have a block; undefined where the source lies outside the arena. */
function textOutput(run: ColumnRun, blocks: ResultBlocks, { total }: Selected, source: Column): Omit<TextOutput, 'at'> | undefined {
  const [offsets, values] = [addressOf(source.offsets, run.arena), addressOf(source.values, run.arena)]
  const validity = addressOf(source.validity, run.arena)
  if (source.offsets === undefined || offsets === undefined || values === undefined) return undefined
  if (source.validity !== undefined && validity === undefined) return undefined
  const ends = blocks.like(source.offsets, total + 1)
  ends[0] = 0
  const blockBytes = run.allocate(4 * Math.ceil(run.program.rows / BLOCK_ROWS))
  const text = { offsets, values, ends: ends.byteOffset, blockBytes, to: 0 }
  const column: Column = { type: source.type, length: total, offsets: ends }
  if (validity === undefined) return { column, text }
  const bits = blocks.emptyBits(total)
  return { column: { ...column, validity: bits }, text, bits: { from: { address: values, validity }, validity: bits.byteOffset } }
}

async function textColumns(
  run: ColumnRun,
  blocks: ResultBlocks,
  selection: Selected,
  texts: readonly TextOutput[],
): Promise<readonly Column[]> {
  if (texts.length === 0) return []
  const { rows } = run.program
  const units = run.units(rows)
  await run.together({ kind: 'ends', columns: texts.map(({ text }) => text), selection }, units, [])
  const made = texts.map(({ column, text }) => {
    const blockBytes = run.arena.view('i32', text.blockBytes, Math.ceil(rows / BLOCK_ROWS)) as Int32Array
    let total = 0
    for (const [block, bytes] of blockBytes.entries()) {
      blockBytes[block] = total
      total += bytes
    }
    const values = blocks.like(new Uint8Array(), total)
    return { column: { ...column, values }, text: { ...text, to: values.byteOffset } }
  })
  await run.together({ kind: 'texts', columns: made.map(({ text }) => text), selection }, units, [])
  return made.map(({ column }) => column)
}

function hasNulls({ validity, length }: Column): boolean {
  if (validity === undefined) return false
  const words = new Uint32Array(validity.buffer, validity.byteOffset, Math.ceil(length / 32))
  return words.reduce((sum, word) => sum + popcount(word), 0) < length
}

function isSpelledText(output: ProgramOutput, { columns }: ColumnProgram): boolean {
  const column = output.kind === 'column' ? columns[output.column] : undefined
  return column !== undefined && isText(column.type) && !isUnspelled(column)
}

/** Whether an output is a column that holds nothing but null. */
function isNothing(output: ProgramOutput, { columns }: ColumnProgram): boolean {
  return output.kind === 'column' && columns[output.column]?.type.kind === 'null'
}

/** The binary logarithm of the bytes of an output's values; undefined where they have no fixed width. */
function widthOf(output: ProgramOutput, { columns }: ColumnProgram): number | undefined {
  if (output.kind === 'computed') return LOG2_BYTES.get(output.type === 'utf8' ? 'i32' : output.type)
  const column = columns[output.column]
  const codes = codesOf(column)
  return LOG2_BYTES.get(
    column !== undefined && codes !== undefined && isUnspelled(column) ? kindOf(codes) : (column?.type.kind ?? 'unknown'),
  )
}

/** The binary logarithm of a value's bytes, for types of fixed width. */
const LOG2_BYTES: ReadonlyMap<ColumnType['kind'], number> = new Map([
  ...(['f64', 'i64', 'u64', 'timestamp', 'time'] as const).map((kind) => [kind, 3] as const),
  ...(['f32', 'i32', 'u32', 'date'] as const).map((kind) => [kind, 2] as const),
  ...(['i16', 'u16'] as const).map((kind) => [kind, 1] as const),
  ...(['i8', 'u8', 'bool'] as const).map((kind) => [kind, 0] as const),
])
