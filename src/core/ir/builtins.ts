/** The functions and methods that the IR can call, by their names in the source. */

/** Pure functions of the platform that the IR knows, by their source names: `Math.exp`, `Number.isNaN`, `String`. */
export const BUILTINS = [
  'Math.abs',
  'Math.acos',
  'Math.acosh',
  'Math.asin',
  'Math.asinh',
  'Math.atan',
  'Math.atan2',
  'Math.atanh',
  'Math.cbrt',
  'Math.ceil',
  'Math.clz32',
  'Math.cos',
  'Math.cosh',
  'Math.exp',
  'Math.expm1',
  'Math.floor',
  'Math.fround',
  'Math.hypot',
  'Math.imul',
  'Math.log',
  'Math.log10',
  'Math.log1p',
  'Math.log2',
  'Math.max',
  'Math.min',
  'Math.pow',
  'Math.round',
  'Math.sign',
  'Math.sin',
  'Math.sinh',
  'Math.sqrt',
  'Math.tan',
  'Math.tanh',
  'Math.trunc',
  'Number',
  'String',
  'Boolean',
  'BigInt',
  'BigInt.asIntN',
  'BigInt.asUintN',
  'Number.isNaN',
  'Number.isFinite',
  'Number.isInteger',
  'Number.isSafeInteger',
  'Number.parseFloat',
  'Number.parseInt',
  'isNaN',
  'isFinite',
  'parseFloat',
  'parseInt',
  'Object.is',
  'Date.UTC',
  'Date.parse',
] as const
export type Builtin = (typeof BUILTINS)[number]

/** Functions of the library that the IR knows, by their exported names; each of their options is an argument of the call. */
export const LIBRARY = ['bucket', 'duration', 'formatTime', 'parseTime'] as const
export type LibraryCall = (typeof LIBRARY)[number]

/** The callee of a call. `new Date` takes a number, a text, or a value that operators convert to a number. */
export type Callee = Builtin | LibraryCall | 'new Date'

/** Pure methods of strings, numbers and dates that return a primitive. */
export const METHODS = [
  'length',
  'at',
  'charAt',
  'charCodeAt',
  'codePointAt',
  'concat',
  'endsWith',
  'includes',
  'indexOf',
  'lastIndexOf',
  'localeCompare',
  'normalize',
  'padEnd',
  'padStart',
  'repeat',
  'slice',
  'startsWith',
  'substring',
  'toLowerCase',
  'toUpperCase',
  'trim',
  'trimEnd',
  'trimStart',
  'toFixed',
  'toPrecision',
  'toString',
  'valueOf',
  'getTime',
  'getFullYear',
  'getMonth',
  'getDate',
  'getDay',
  'getHours',
  'getMinutes',
  'getSeconds',
  'getMilliseconds',
  'getUTCFullYear',
  'getUTCMonth',
  'getUTCDate',
  'getUTCDay',
  'getUTCHours',
  'getUTCMinutes',
  'getUTCSeconds',
  'getUTCMilliseconds',
  'toISOString',
] as const
/**
 * What is asked of the parts of a text, by two names as no method has: `split part` of a separator and the part's number, from the end
 * below 0, is `text.split(separator).at(number)`; `split length` of a separator is `text.split(separator).length`.
 */
export const SPLITS = ['split part', 'split length'] as const

/**
 * Further methods of texts, which row functions alone call. `character` is `text[index]`; those with `regex` have a pattern and flags before
 * their other arguments, `text.replace(/pattern/flags, …)`, but for `exec regex`, which is `/pattern/flags.exec(text)`.
 */
export const TEXT_METHODS = [
  'character',
  'replace',
  'replaceAll',
  'substr',
  'toLocaleLowerCase',
  'toLocaleUpperCase',
  'replace regex',
  'replaceAll regex',
  'search regex',
] as const
/** Methods of texts that give a list of texts; only the questions of `OfList` are asked of it. */
export const LISTS_OF_TEXTS = ['split', 'split regex', 'match regex', 'exec regex'] as const
export type Method = (typeof METHODS)[number] | (typeof SPLITS)[number] | (typeof TEXT_METHODS)[number] | (typeof LISTS_OF_TEXTS)[number]

/** What gives a list of a list; `reverse` and `sort` change a list that nothing else has. */
export const LISTS_OF_LISTS = ['map', 'filter', 'slice', 'reverse', 'sort', 'toReversed', 'toSorted'] as const

/**
 * What a list is asked, by the names of properties and methods but for three: `element` is `list[index]`, `count` is `list.filter(f).length`,
 * and `Math.max` and `Math.min` are those of all elements, `Math.max(...list)`. Those of `LISTS_OF_LISTS` give a list again.
 */
export type ListQuestion =
  | (typeof LISTS_OF_LISTS)[number]
  | 'length'
  | 'element'
  | 'at'
  | 'includes'
  | 'indexOf'
  | 'join'
  | 'reduce'
  | 'some'
  | 'every'
  | 'find'
  | 'findIndex'
  | 'findLast'
  | 'findLastIndex'
  | 'count'
  | 'Math.max'
  | 'Math.min'

/** Whether the callee is a function of the platform; only row functions call the others. */
export function isBuiltin(callee: Callee): callee is Builtin {
  return callee !== 'new Date' && !isLibraryCall(callee)
}

export function isLibraryCall(callee: Callee): callee is LibraryCall {
  return (LIBRARY as readonly string[]).includes(callee)
}
