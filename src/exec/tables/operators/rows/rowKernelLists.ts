/**
 * What a generated loop over columns asks of their lists: functions beside the loop, which read elements where they lie.
 *
 *     r.scores.reduce((a, b) => a + b, 0)   -->   const $q0 = ($i, $a0) => { let l_sofar = $a0; for (let $k = …) … return l_sofar }
 *
 * Statement: a call of such a function returns, or throws, what JavaScript does for the list of row `$i` as an array.
 */
import type { Column } from '../../../../core/data/column.ts'
import { valueReader } from '../../../../core/data/columnReaders.ts'
import { emptyColumn, sliceColumn } from '../../../../core/data/columnSlices.ts'
import type { ColumnType } from '../../../../core/data/schema.ts'
import { Bug } from '../../../../core/errors.ts'
import { type Expr, type OfElement, visitExpr } from '../../../../core/ir/functionIr.ts'
import { rewriteExpr, UNCHANGED } from '../../../../core/ir/irRewrite.ts'
import { localsOf, type OfList } from '../../../../core/ir/listQuestions.ts'

/** Types whose values are read straight from their typed array. */
export const DIRECT: ReadonlyMap<ColumnType['kind'], (element: string) => string> = new Map([
  ...(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'i64', 'u64', 'time'] as const).map(
    (kind) => [kind, (element: string) => element] as [ColumnType['kind'], (element: string) => string],
  ),
  ['bool', (element: string) => `${element} !== 0`],
])

/** Prints the test whether bit `index` of a bitmap is 0. */
export function isNullText(bitmap: string, index: string): string {
  return `((${bitmap}[${index} >> 3] & (1 << (${index} & 7))) === 0)`
}

/** The function that is printed around the questions. */
export interface Around {
  /** What the kernel reads, by name. */
  readonly bindings: Record<string, unknown>
  /** The functions beside the loop: their names by their texts. */
  readonly functions: Map<string, string>
  /** The text that an expression is for all rows; undefined where it is none. */
  constant(expr: Expr): string | undefined
  /** The name of the UTF-8 bytes of a text among what the kernel reads. */
  bytesOf(text: string): string
  /** The names of the row's columns that `work` prints. */
  columnsIn(work: () => void): ReadonlySet<string>
}

/** The lists of one column, as functions of a kernel read them. */
export class ListColumn {
  private readonly column: Column
  private readonly items: Column
  private readonly id: string
  private readonly around: Around
  /** The first element of all lists, from which on texts are read. */
  private readonly first: number
  private readonly end: number

  /** `id` is a part of names that no other column has. */
  constructor(column: Column, id: string, around: Around) {
    this.column = column
    this.id = id
    this.around = around
    const { offsets = new Int32Array(1), children, length, type, validity } = column
    this.first = offsets[0] ?? 0
    this.items = children?.[0] ?? emptyColumn(type.kind === 'list' ? type.item : type)
    around.bindings[`$Lo${id}`] = offsets
    if (validity !== undefined) around.bindings[`$Lm${id}`] = validity
    this.end = offsets[length] ?? this.first
  }

  /** The test whether the list of the row is null. */
  get isNull(): string {
    return this.column.validity === undefined ? 'false' : isNullText(`$Lm${this.id}`, '$i')
  }

  /** Prints the call that answers a question. */
  asked(expr: OfList, print: (expr: Expr) => string): string {
    const { functions } = this.around
    const { args, each } = expr
    const texts = args.map((arg) => `(${print(arg)})`)
    const names = args.map((_, i) => `$a${i}`)
    let body = ''
    const columns = this.around.columnsIn(() => {
      body = this.body(expr, print)
    })
    const own = [...columns, ...(each === undefined ? [] : freeLocals(each))].sort()
    const absent = this.column.validity === undefined ? '' : `if (${this.isNull}) return ${ofNull(expr)};\n`
    const text = `(${['$i', ...names, ...own].join(', ')}) => {\n${absent}const $b = $Lo${this.id}[$i], $e = $Lo${this.id}[$i + 1];\n${body}\n}`
    let name = functions.get(text)
    if (name === undefined) functions.set(text, (name = `$q${functions.size}`))
    return `${name}(${['$i', ...texts, ...own].join(', ')})`
  }

  /** Prints the comparison of the element at `$k` with a text, by its bytes; undefined where elements or texts are others. */
  equals(text: string): string | undefined {
    const { type, offsets, values, dictionary } = this.items
    // bytes and text are equal together unless decoding changed the bytes
    if (type.kind !== 'utf8' || offsets === undefined || values === undefined || dictionary !== undefined || UNUSUAL.test(text))
      return undefined
    const { bindings } = this.around
    Object.assign(bindings, { $same: isSame, [`$Lv${this.id}`]: values, [`$Lx${this.id}`]: offsets })
    const same = `$same($Lv${this.id}, $Lx${this.id}[$k], $Lx${this.id}[$k + 1], ${this.around.bytesOf(text)})`
    return this.items.validity === undefined ? same : `(!${this.isItemNull('$k')} && ${same})`
  }

  private isItemNull(at: string, { validity }: Column = this.items, id: string = this.id): string {
    this.around.bindings[`$Ln${id}`] = validity
    return isNullText(`$Ln${id}`, at)
  }

  private body(expr: OfList, print: (expr: Expr) => string): string {
    const { asks, args } = expr
    const each = expr.each && this.ofFields(expr.each)
    const loop = (body: string, from = '$b'): string => `for (let $k = ${from}; $k < $e; $k++) {\n${body}\n}`
    const back = (body: string): string => `for (let $k = $e - 1; $k >= $b; $k--) {\n${body}\n}`
    const value = each === undefined ? '' : print(each.value)
    const given = each === undefined ? '' : this.given(each, value)
    switch (asks) {
      case 'length':
        return 'return $e - $b;'
      case 'element':
        return `if (typeof $a0 !== 'number') return ${this.list()}[$a0];
return $a0 >= 0 && $a0 < $e - $b && $a0 === Math.trunc($a0) ? ${this.item('$b + $a0')} : undefined;`
      case 'at':
        return `let $n = ${args.length === 0 ? '0' : 'Math.trunc(+$a0) || 0'};
if ($n < 0) $n += $e - $b;
return $n >= 0 && $n < $e - $b ? ${this.item('$b + $n')} : undefined;`
      case 'includes':
      case 'indexOf': {
        const constant = args[0] && this.around.constant(args[0])
        const equal = constant === undefined ? undefined : this.equals(constant)
        const [found, none] = asks === 'includes' ? ['true', 'false'] : ['$k - $b', '-1']
        // `includes` finds NaN
        const isIt = asks === 'includes' ? '$x === $a0 || ($x !== $x && $a0 !== $a0)' : '$x === $a0'
        const test = equal === undefined ? `const $x = ${this.item('$k')}; if (${isIt})` : `if (${equal})`
        return `${loop(`${test} return ${found};`)}\nreturn ${none};`
      }
      case 'join':
        return `const $s = ${args.length === 0 ? "','" : "$a0 === undefined ? ',' : String($a0)"};
let $t = '';
${loop(`if ($k > $b) $t += $s; const $x = ${this.item('$k')}; if ($x !== null) $t += $x;`)}
return $t;`
      case 'Math.max':
      case 'Math.min':
        return `let $x = ${asks === 'Math.max' ? '-Infinity' : 'Infinity'};\n${loop(`$x = ${asks}($x, ${this.item('$k')});`)}\nreturn $x;`
      case 'reduce': {
        const sofar = `l_${each?.sofar}`
        const begin =
          args.length > 0 ? `let ${sofar} = $a0;` : `if ($e === $b) return [].reduce(() => 0);\nlet ${sofar} = ${this.item('$b')};`
        return `${begin}\n${loop(`${given}${sofar} = ${value};`, args.length > 0 ? '$b' : '$b + 1')}\nreturn ${sofar};`
      }
      case 'some':
        return `${loop(`${given}if (${value}) return true;`)}\nreturn false;`
      case 'every':
        return `${loop(`${given}if (!(${value})) return false;`)}\nreturn true;`
      case 'count':
        return `let $n = 0;\n${loop(`${given}if (${value}) $n++;`)}\nreturn $n;`
      case 'find':
      case 'findLast':
        return `${(asks === 'find' ? loop : back)(`${given}if (${value}) return ${this.item('$k')};`)}\nreturn undefined;`
      case 'findIndex':
      case 'findLastIndex':
        return `${(asks === 'findIndex' ? loop : back)(`${given}if (${value}) return $k - $b;`)}\nreturn -1;`
      case 'map':
      case 'filter':
      case 'slice':
      case 'reverse':
      case 'sort':
      case 'toReversed':
      case 'toSorted':
        throw new Bug(`A list of a column is asked for its ${asks}.`)
    }
  }

  /** The function of an element that is a struct, with variables in place of the fields that it reads. */
  private ofFields(each: OfElement): OfElement {
    const { type, children, validity } = this.items
    if (type.kind !== 'struct' || validity !== undefined) return each // a field of null throws
    const { item } = each
    const expr = (one: Expr): Expr => {
      if (one.kind !== 'Field' || one.of.kind !== 'Local' || one.of.name !== item) return one
      const at = type.fields.findIndex(({ name }) => name === one.name)
      return children?.[at] === undefined ? one : { kind: 'Local', name: `${item}$${at}`, span: one.span }
    }
    return { ...each, value: rewriteExpr(each.value, { ...UNCHANGED, expr }) }
  }

  /** Prints the declarations of what the function of an element is given, as far as its value reads them. */
  private given({ item, index }: OfElement, value: string): string {
    const isRead = (local: string): boolean => new RegExp(`\\bl_${local.replaceAll('$', '\\$')}(?![\\w$])`).test(value)
    const declared = (local: string, init: () => string): string => (isRead(local) ? `const l_${local} = ${init()};\n` : '')
    const fields = (this.items.children ?? []).map((field, at) =>
      declared(`${item}$${at}`, () => this.item('$k', field, `${this.id}_${at}`)),
    )
    return declared(item, () => this.item('$k')) + fields.join('') + declared(index, () => '$k - $b')
  }

  /** Prints the element at a place among those of all lists, or its field. */
  private item(at: string, items: Column = this.items, id: string = this.id): string {
    const { around } = this
    const direct = DIRECT.get(items.type.kind)
    if (direct === undefined || items.values === undefined) {
      // a slice of lists has all elements: readers of texts look at all that they are given
      around.bindings[`$Lr${id}`] ??= valueReader(sliceColumn(items, this.first, this.end))
      return `$Lr${id}(${at} - ${this.first})`
    }
    around.bindings[`$Lv${id}`] = items.values
    // the type in the comment gives kernels over other typed arrays another source, so that V8's access to each stays monomorphic
    const value = direct(`$Lv${id}[${at}] /* ${items.type.kind} */`)
    return items.validity === undefined ? `(${value})` : `(${this.isItemNull(`(${at})`, items, id)} ? null : ${value})`
  }

  private list(): string {
    this.around.bindings[`$La${this.id}`] ??= valueReader(this.column)
    return `$La${this.id}($i)`
  }
}

/** What texts have that decoding may have made of other bytes. */
const UNUSUAL = /[\ufffd\ufeff]|\p{Surrogate}/u

function isSame(bytes: Uint8Array, from: number, to: number, text: Uint8Array): boolean {
  const { length } = text
  if (to - from !== length) return false
  for (let i = 0; i < length; i++) if (bytes[from + i] !== text[i]) return false
  return true
}

/** Prints what throws as the question does where there is no list. */
function ofNull({ asks }: OfList): string {
  if (asks === 'element') return '(null)[$a0]'
  if (asks === 'Math.max' || asks === 'Math.min') return `${asks}(...(null))`
  return `(null).${asks === 'count' ? 'filter' : asks}`
}

/** The names of the variables of the function around that a function of an element reads. */
function freeLocals(each: OfElement): ReadonlySet<string> {
  const bound = new Set(localsOf(each))
  const names = new Set<string>()
  visitExpr(each.value, (expr) => {
    if (expr.kind === 'OfList' && expr.each !== undefined) for (const local of localsOf(expr.each)) bound.add(local)
    if (expr.kind === 'Local') names.add(expr.name)
  })
  return new Set([...names].filter((name) => !bound.has(name)).map((name) => `l_${name}`))
}
