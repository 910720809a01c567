/** What a generated loop over a batch reads: columns, keys, and lists where they lie. */
import { type Batch, type Column, isValid } from '../../../../core/data/column.ts'
import { rowReader, valueReader } from '../../../../core/data/columnReaders.ts'
import { Bug } from '../../../../core/errors.ts'
import type { Expr, FunctionIr } from '../../../../core/ir/functionIr.ts'
import { makesList, type OfList } from '../../../../core/ir/listQuestions.ts'
import { isoTime } from '../../../../core/time/isoBytes.ts'
import { timesOf } from '../../../kernels/columns/timesOf.ts'
import type { RowContext } from './rowFailure.ts'
import { type Around, DIRECT, isNullText, ListColumn } from './rowKernelLists.ts'

/** A function to what `Date.parse` reads off the text of a row, and `absent` for null; undefined for other columns. */
function textTimes(column: Column, absent: number): ((row: number) => number) | undefined {
  const { values, offsets, validity, dictionary } = column
  if (column.type.kind !== 'utf8' || dictionary !== undefined || offsets === undefined || !(values instanceof Uint8Array)) return undefined
  const text = valueReader(column)
  return (row) => {
    if (validity !== undefined && !isValid(column, row)) return absent
    const time = isoTime(values, offsets[row] as number, offsets[row + 1] as number) // a row more than there are
    return Number.isNaN(time) ? Date.parse(text(row) as string) : time // a text, since the column has texts
  }
}

/** The columns a kernel reads: each is bound once, and read once a row. */
export class KernelInputs implements Around {
  readonly bindings: Record<string, unknown> = {}
  private readonly batch: Batch
  private readonly context: RowContext
  private readonly columns = new Map<number, string>()
  private readonly names: readonly string[]
  private readonly parameters: FunctionIr['parameters']
  private readonly lists = new Map<number, ListColumn>()
  private readonly texts = new Map<string, string>()
  /** The names of columns that are printed now; undefined where nobody asks. */
  private printed: Set<string> | undefined
  /** The variables for the elements of lists that functions being printed go through, the innermost last. */
  private readonly items: { readonly local: string; readonly list: ListColumn }[] = []
  readonly functions: Map<string, string> = new Map()

  constructor(batch: Batch, context: RowContext, { parameters }: FunctionIr) {
    this.batch = batch
    this.context = context
    this.parameters = parameters
    this.names = batch.element.kind === 'row' ? batch.element.fields.map((field) => field.name) : []
  }

  input(argument: number): string {
    if (argument !== 0) throw new Bug(`A row function reads argument ${argument}.`)
    const [column] = this.batch.columns
    if (this.batch.element.kind === 'scalar' && column !== undefined) return this.column(0, column)
    this.bindings.$row_ ??= rowReader(this.batch)
    return '$row_($i)'
  }

  field(argument: number, name: string): string | undefined {
    if (argument !== 0 || this.batch.element.kind !== 'row') return undefined
    const position = this.names.indexOf(name)
    const column = this.batch.columns[position]
    // an inherited property, as `toString`, is read off the row itself
    if (column === undefined) return name in Object.prototype ? undefined : 'undefined'
    return this.column(position, column)
  }

  time(argument: number, name: string | undefined): string | undefined {
    if (argument !== 0 || (name === undefined) !== (this.batch.element.kind === 'scalar')) return undefined
    const position = name === undefined ? 0 : this.names.indexOf(name)
    const column = this.batch.columns[position]
    if (column?.type.kind !== 'date' && column?.type.kind !== 'timestamp') return undefined
    this.bindings[`$t${position}`] ??= timesOf(column)
    return `$t${position}[$i]`
  }

  timeOfText(argument: number, name: string | undefined, absent: 0 | 'NaN'): string | undefined {
    if (argument !== 0 || (name === undefined) !== (this.batch.element.kind === 'scalar')) return undefined
    const position = name === undefined ? 0 : this.names.indexOf(name)
    const column = this.batch.columns[position]
    const times = column && textTimes(column, Number(absent))
    if (times === undefined) return undefined
    const reader = `$d${absent}_${position}`
    this.bindings[reader] ??= times
    return `${reader}($i)`
  }

  /** The lists of column `name`; undefined where it holds others. */
  listOf(argument: number, name: string): ListColumn | undefined {
    if (argument !== 0 || this.batch.element.kind !== 'row') return undefined
    const position = this.names.indexOf(name)
    const column = this.batch.columns[position]
    if (column?.type.kind !== 'list') return undefined
    let list = this.lists.get(position)
    if (list === undefined) this.lists.set(position, (list = new ListColumn(column, String(position), this)))
    return list
  }

  ofList(expr: OfList, print: (expr: Expr) => string): string | undefined {
    const { list: of, each } = expr
    if (makesList(expr)) return undefined
    const list = of.kind === 'Field' && of.of.kind === 'Input' ? this.listOf(of.of.argument, of.name) : undefined
    if (list === undefined || each === undefined) return list?.asked(expr, print)
    this.items.push({ local: each.item, list })
    const asked = list.asked(expr, print)
    this.items.pop()
    return asked
  }

  equals(left: Expr, right: Expr): string | undefined {
    const { local, list } = this.items.at(-1) ?? {}
    const isItem = (expr: Expr): boolean => expr.kind === 'Local' && expr.name === local
    const other = isItem(left) ? right : isItem(right) ? left : undefined
    const text = other && this.constant(other)
    return text === undefined ? undefined : list?.equals(text)
  }

  constant(expr: Expr): string | undefined {
    const value =
      expr.kind === 'Literal'
        ? expr.value
        : expr.kind === 'Parameter'
          ? this.parameters.find(({ name }) => name === expr.name)?.value
          : undefined
    return typeof value === 'string' ? value : undefined
  }

  bytesOf(text: string): string {
    let name = this.texts.get(text)
    if (name === undefined) this.texts.set(text, (name = `$Lw${this.texts.size}`))
    this.bindings[name] = new TextEncoder().encode(text)
    return name
  }

  columnsIn(work: () => void): ReadonlySet<string> {
    const outer = this.printed
    const own = new Set<string>()
    this.printed = own
    work()
    this.printed = outer
    for (const name of own) outer?.add(name)
    return own
  }

  /** The functions beside the loop. */
  beside(): string {
    return [...this.functions].map(([text, name]) => `const ${name} = ${text};`).join('\n')
  }

  key(axis: number): string {
    const keys = this.batch.keys
    if (keys === undefined) {
      this.bindings.$first = this.context.firstRow
      return axis === 0 ? '($first + $i)' : 'undefined'
    }
    if (keys[axis] === undefined) return 'undefined'
    this.bindings[`$k${axis}`] = keys[axis]
    return `$k${axis}[$i]`
  }

  hoisted(): string {
    return [...this.columns].map(([position, read]) => `const $c${position} = ${read};`).join('\n')
  }

  private column(position: number, column: Column): string {
    if (!this.columns.has(position)) this.columns.set(position, this.read(position, column))
    this.printed?.add(`$c${position}`)
    return `$c${position}`
  }

  private read(position: number, column: Column): string {
    const direct = DIRECT.get(column.type.kind)
    if (direct === undefined || column.values === undefined) {
      this.bindings[`$r${position}`] = valueReader(column)
      return `$r${position}($i)`
    }
    this.bindings[`$v${position}`] = column.values
    // the type in the comment gives kernels over other typed arrays another source, so that V8's access to each stays monomorphic
    const value = direct(`$v${position}[$i] /* ${column.type.kind} */`)
    if (column.validity === undefined) return value
    this.bindings[`$m${position}`] = column.validity
    return `${isNullText(`$m${position}`, '$i')} ? null : ${value}`
  }
}
