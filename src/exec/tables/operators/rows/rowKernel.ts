/**
 * Runs row functions over batches.
 *
 * A function that was lowered becomes a generated loop over the columns it reads, typed arrays baked into its closure:
 * no row is ever made. One that was refused runs as it stands on row objects. Either way the values and the
 * exceptions are those of calling the function row after row.
 */

import type { Batch, Column } from '../../../../core/data/column.ts'
import { createBuilder } from '../../../../core/data/columnBuilder.ts'
import { rowReader } from '../../../../core/data/columnReaders.ts'
import type { ColumnType, ElementType, Field } from '../../../../core/data/schema.ts'
import { Bug } from '../../../../core/errors.ts'
import type { Expr, FunctionIr } from '../../../../core/ir/functionIr.ts'
import { rowIrOf } from '../../../../core/ir/functionUse.ts'
import { madeFromText } from '../../../../core/ir/madeFromText.ts'
import { copyOf } from '../../../../core/ir/portableCopy.ts'
import type { ExecFunction } from '../../../../planner/physical/physicalPlan.ts'
import { functionOverFields } from '../../columns/structFields.ts'
import { elementColumn, scalarBatch, structBatch } from '../batches.ts'
import { type ArrayForm, inForm } from '../hashing/tupleKeys.ts'
import { withWholeNulls } from '../join/nullKeys.ts'
import { type RowContext, rowFailure } from './rowFailure.ts'
import { KernelInputs } from './rowKernelInputs.ts'
import { createOutput, type Output, partsOf, returnShapeOf } from './rowKernelOutput.ts'
import { constantsOf, printRow } from './rowKernelSource.ts'

/** Positions of the elements for which the function is truthy. */
export function selectRows(f: ExecFunction, batch: Batch, context: RowContext): Int32Array {
  const selection = new Int32Array(batch.length)
  let count = 0
  const ir = rowIrOf(f)
  if (ir === undefined) {
    eachRow(f, batch, context, (value, i) => {
      if (value) selection[count++] = i
    })
  } else {
    count = runKernel(ir, batch, context, { $sel: selection }, (value, print) =>
      value === undefined ? '' : `if (${print(value)}) $sel[$n++] = $i;`,
    )
  }
  return selection.slice(0, count)
}

/** The column of the function's results. `arrays` says how arrays among them are stored. */
export function columnOf(f: ExecFunction, batch: Batch, context: RowContext, { arrays }: { readonly arrays: ArrayForm }): Column {
  const compiled = compiledColumn(f, batch, context, arrays)
  if (compiled !== undefined) return arrays === 'match' ? withWholeNulls(compiled) : compiled
  const builder = createBuilder(undefined, 'key')
  returnedValues(f, batch, context, (value) => builder.append(inForm(value, arrays)))
  return builder.finish()
}

/** The column of a function that a generated loop writes to typed columns; undefined where its values must be appended one by one. */
function compiledColumn(f: ExecFunction, batch: Batch, context: RowContext, arrays: ArrayForm): Column | undefined {
  const ir = rowIrOf(f)
  const shape = ir === undefined ? undefined : returnShapeOf(ir)
  if (ir !== undefined && (shape?.kind === 'object' || (shape?.kind === 'tuple' && arrays !== 'list'))) {
    const columns = outputColumns(ir, batch, context, shape.names, () => undefined)
    return structColumn(shape.names, columns, batch.length)
  }
  if (ir !== undefined && shape?.kind === 'same' && arrays === 'list') return elementColumn(batch)
  if (ir !== undefined && shape?.kind === 'value') {
    const copied = copiedColumn(ir, batch)
    if (copied === undefined) return numberColumn(ir, batch, context)
    return copied.type.kind === 'list' && arrays === 'items' ? undefined : copied
  }
  return undefined
}

/** The column where every value is a number or null, and at least one is a number; else undefined, and the caller runs the function again. */
function numberColumn(ir: FunctionIr, batch: Batch, context: RowContext): Column | undefined {
  const values = new Float64Array(batch.length)
  const nulls: number[] = []
  const rest = (value: unknown, index: number): boolean => {
    if (value === null || value === undefined) nulls.push(index)
    return value === null || value === undefined
  }
  let isOther = false
  const other = (): void => {
    isOther = true
  }
  runKernel(
    ir,
    batch,
    context,
    { $o: values, $rest: rest, $other: other },
    (value, print) =>
      `{ const $t = ${value === undefined ? 'undefined' : print(value)}; if (typeof $t === 'number') $o[$i] = $t; else if (!$rest($t, $i)) { $other(); return 0; } }`,
  )
  if (isOther || nulls.length === batch.length) return undefined
  return { type: { kind: 'f64' }, length: batch.length, values, ...validityWithout(nulls, batch.length) }
}

/**
 * Writes what the function returns for each row to `values`; returns how many are absent. Undefined where it throws, or where a result is
 * neither of the kind nor `absent`.
 */
export function answersWritten(
  ir: FunctionIr,
  batch: Batch,
  {
    kind,
    values,
    absent,
  }: { readonly kind: 'f64' | 'bool'; readonly values: Float64Array | Uint8Array; readonly absent: null | undefined },
): { readonly nulls: number; readonly validity?: Uint8Array } | undefined {
  const nulls: number[] = []
  const rest = (value: unknown, index: number): boolean => {
    nulls.push(index)
    return value === absent
  }
  let isOther = false
  const other = (): void => {
    isOther = true
  }
  const type = kind === 'f64' ? 'number' : 'boolean'
  try {
    runKernel(ir, batch, { firstRow: 0, position: 0, method: 'map' }, { $o: values, $rest: rest, $other: other }, (value, print) =>
      value === undefined
        ? ''
        : `{ const $t = ${print(value)}; if (typeof $t === '${type}') $o[$i] = ${kind === 'f64' ? '$t' : '$t ? 1 : 0'}; else if (!$rest($t, $i)) { $other(); return 0; } }`,
    )
  } catch (error) {
    if (error instanceof Bug) throw error
    return undefined // over rows it throws where it is reached
  }
  return isOther ? undefined : { nulls: nulls.length, ...validityWithout(nulls, batch.length) }
}

function validityWithout(nulls: readonly number[], length: number): { readonly validity?: Uint8Array } {
  if (nulls.length === 0) return {}
  const validity = new Uint8Array((length + 7) >> 3).fill(0xff)
  for (const index of nulls) validity[index >> 3] = (validity[index >> 3] as number) & ~(1 << (index & 7)) // index < length
  return { validity }
}

/** The batch of the function's results: rows when all are plain objects, scalars otherwise. Keys are kept. */
export function mapRows(f: ExecFunction, batch: Batch, context: RowContext, declared: ElementType): Batch {
  const mapped = mappedElements(f, batch, context, declared)
  return batch.keys === undefined ? mapped : { ...mapped, keys: batch.keys }
}

function mappedElements(f: ExecFunction, batch: Batch, context: RowContext, declared: ElementType): Batch {
  const ir = rowIrOf(f)
  const shape = ir === undefined ? undefined : returnShapeOf(ir)
  if (ir !== undefined && shape?.kind === 'same') {
    // statements before the return may throw
    if (!returnsAtOnce(ir)) runKernel(ir, batch, context, {}, (value, print) => (value === undefined ? '' : `void (${print(value)});`))
    return batch
  }
  if (ir !== undefined && shape?.kind === 'object') {
    const fields = declared.kind === 'row' ? declared.fields : []
    const columns = outputColumns(ir, batch, context, shape.names, (name) => fields.find((field) => field.name === name)?.type)
    return structBatch(structColumn(shape.names, columns, batch.length))
  }
  if (ir !== undefined && declared.kind === 'scalar' && shape?.kind === 'value') {
    const copied = copiedColumn(ir, batch)
    if (copied !== undefined) return scalarBatch(copied)
    if (declared.type.kind !== 'struct' && declared.type.kind !== 'list') {
      const output = createOutput(0, declared.type, batch.length, 'value')
      runKernel(ir, batch, context, output.bindings, (value, print) => output.store(value === undefined ? 'undefined' : print(value)))
      return scalarBatch(output.finish(batch.length))
    }
  }
  const builder = createBuilder(declared.kind === 'scalar' ? declared.type : undefined)
  returnedValues(f, batch, context, (value) => builder.append(value))
  return structBatch(builder.finish())
}

function returnsAtOnce({ body: [only, ...rest] }: FunctionIr): boolean {
  return rest.length === 0 && only?.kind === 'Return' && only.value?.kind === 'Input'
}

/** Calls `visit` with what the function returns for each element, in order. */
export function returnedValues(f: ExecFunction, batch: Batch, context: RowContext, visit: (value: unknown, index: number) => void): void {
  const ir = rowIrOf(f)
  if (ir === undefined) eachRow(f, batch, context, visit)
  else
    runKernel(ir, batch, context, { $visit: visit }, (value, print) => `$visit(${value === undefined ? 'undefined' : print(value)}, $i);`)
}

/** The function to be called with values: for functions of two arguments and of groups. The inputs come first, then the key. */
export function callable(f: ExecFunction): (...args: readonly unknown[]) => unknown {
  const ir = rowIrOf(f)
  if (ir === undefined) return asItStands(f)
  const constants = constantsOf(ir)
  const { locals, body } = printRow(ir, {
    input: (argument) => `$args[${argument}]`,
    field: () => undefined,
    key: (axis) => `$args[$args.length - 1][${axis}]`,
    returned: (value, print) => `return ${value === undefined ? 'undefined' : print(value)};`,
  })
  return compile(`const { ${Object.keys(constants).join(', ')} } = $A;\nreturn function (...$args) {\n${locals}\n${body}\n}`, constants)
}

function asItStands(f: ExecFunction): (...args: readonly unknown[]) => unknown {
  if (f.portable !== undefined) return copyOf(f.portable)
  if (f.original === undefined) throw new Bug(`The function ${f.text} was sent to a thread it cannot run in.`)
  return f.original as (...args: readonly unknown[]) => unknown
}

function eachRow(f: ExecFunction, batch: Batch, context: RowContext, visit: (value: unknown, index: number) => void): void {
  const call = asItStands(f)
  const read = rowReader(batch)
  for (let i = 0; i < batch.length; i++) {
    let value: unknown
    const row = read(i)
    try {
      value = call(row, keyOf(batch, context, i))
    } catch (error) {
      throw rowFailure(error, batch, context, i)
    }
    visit(value, i)
  }
}

/** The key of an element: its explicit key, or its row number. */
export function keyOf(batch: Batch, context: RowContext, index: number): number[] {
  return batch.keys === undefined ? [context.firstRow + index] : batch.keys.map((axis) => axis[index] ?? 0)
}

/** Compiles and runs a loop over the batch; returns the final value of its counter `$n`. */
function runKernel(
  ir: FunctionIr,
  batch: Batch,
  context: RowContext,
  bindings: Readonly<Record<string, unknown>>,
  store: (value: Expr | undefined, print: (expr: Expr) => string) => string,
): number {
  // a struct would be made an object for each row
  const { table, ir: own } = functionOverFields(ir, batch) ?? { table: batch, ir }
  const inputs = new KernelInputs(table, context, own)
  const { locals, body } = printRow(own, {
    input: (argument) => inputs.input(argument),
    field: (argument, name) => inputs.field(argument, name),
    time: (argument, name) => inputs.time(argument, name),
    timeOfText: (argument, name, absent) => inputs.timeOfText(argument, name, absent),
    ofList: (expr, print) => inputs.ofList(expr, print),
    isNoList: (argument, name) => inputs.listOf(argument, name)?.isNull,
    equals: (left, right) => inputs.equals(left, right),
    key: (axis) => inputs.key(axis),
    returned: (value, print) => `${store(value, print)}\nbreak $row;`,
  })
  const all: Record<string, unknown> = {
    ...constantsOf(own),
    ...inputs.bindings,
    ...bindings,
    $fail: (error: unknown, i: number) => rowFailure(error, batch, context, i),
  }
  const source = `const { ${Object.keys(all).join(', ')} } = $A;
${inputs.beside()}
return function ($length) {
let $i = 0, $n = 0;
${locals}
try {
for (; $i < $length; $i++) $row: {
${inputs.hoisted()}
${body}
${store(undefined, () => 'undefined')}
}
} catch ($error) { throw $fail($error, $i); }
return $n;
}`
  return compile(source, all)(batch.length) as number
}

/** Kernel factories by source text, so that V8 keeps the optimized code of one from batch to batch. */
const factories = new Map<string, (bindings: Readonly<Record<string, unknown>>) => (...args: readonly unknown[]) => unknown>()
const MOST_FACTORIES = 1000

function compile(source: string, bindings: Readonly<Record<string, unknown>>): (...args: readonly unknown[]) => unknown {
  let factory = factories.get(source)
  if (factory === undefined) {
    if (factories.size >= MOST_FACTORIES) factories.clear()
    // the source was printed from the IR, which has no way to say anything but pure expressions and loops
    factory = madeFromText(['$A'], `'use strict';\n${source}`) as NonNullable<typeof factory>
    factories.set(source, factory)
  }
  return factory(bindings)
}

/** A column for each name; where the part is a plain field of the row, that field's column itself. */
export function outputColumns(
  ir: FunctionIr,
  batch: Batch,
  context: RowContext,
  names: readonly string[],
  typeOf: (name: string) => ColumnType | undefined,
): readonly Column[] {
  const copies = copiedParts(ir, batch, names)
  const outputs: (Output | undefined)[] = names.map((name, i) =>
    copies[i] === undefined ? createOutput(i, typeOf(name), batch.length, name) : undefined,
  )
  const bindings = Object.assign({}, ...outputs.map((output) => output?.bindings))
  const store = (value: Expr | undefined, print: (expr: Expr) => string): string => {
    if (value === undefined) return ''
    if (value.kind === 'Conditional')
      return `if (${print(value.test)}) {\n${store(value.then, print)}\n} else {\n${store(value.else, print)}\n}`
    const parts = partsOf(value, names)
    if (parts === undefined) throw new Bug(`A function that returns objects returns ${value.kind}.`)
    return outputs.map((output, i) => (output === undefined ? '' : output.store(print(parts[i] as Expr)))).join('\n')
  }
  if (outputs.some((output) => output !== undefined)) runKernel(ir, batch, context, bindings, store)
  return names.map((_, i) => copies[i] ?? (outputs[i] as Output).finish(batch.length)) // one of the two, by construction
}

/** The input's columns for the parts that are plain fields, as `a` in `(r) => ({ a: r.a, b: … })`; undefined for the others. */
function copiedParts(ir: FunctionIr, batch: Batch, names: readonly string[]): readonly (Column | undefined)[] {
  const [only] = ir.body
  if (ir.body.length !== 1 || only?.kind !== 'Return' || only.value === undefined) return []
  return (partsOf(only.value, names) ?? []).map((part) => fieldColumn(part, batch))
}

/** The column of the batch that the function returns as it is; undefined for other functions. */
export function copiedColumn(ir: FunctionIr, batch: Batch): Column | undefined {
  const [only] = ir.body
  return ir.body.length === 1 && only?.kind === 'Return' && only.value !== undefined ? fieldColumn(only.value, batch) : undefined
}

function fieldColumn(expr: Expr, batch: Batch): Column | undefined {
  if (expr.kind === 'Input' && expr.argument === 0 && batch.element.kind === 'scalar') return batch.columns[0]
  if (expr.kind !== 'Field' || expr.of.kind !== 'Input' || expr.of.argument !== 0 || batch.element.kind !== 'row') return undefined
  return batch.columns[batch.element.fields.findIndex((field) => field.name === expr.name)]
}

/** A struct column without nulls. */
export function structColumn(names: readonly string[], children: readonly Column[], length: number): Column {
  const fields = names.map((name, i): Field => {
    const child = children[i] as Column // one child per name
    return { name, type: child.type, nullable: child.validity !== undefined || child.type.kind === 'null' }
  })
  return { type: { kind: 'struct', fields }, length, children }
}
