/** What the IR of functions calls, by the names that it has in the source. */

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
] as const
export type Builtin = (typeof BUILTINS)[number]

/** Functions of the library that the IR knows, by the names that it exports them under, with their options as single arguments. */
export const LIBRARY = ['bucket', 'duration', 'formatTime', 'parseTime'] as const
export type LibraryCall = (typeof LIBRARY)[number]

/** What a call calls: `new Date` is one of a number, or of what operators make a number of; never of a text. */
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
export type Method = (typeof METHODS)[number]

/** Whether it is a function of the platform: what else there is, only functions of rows call. */
export function isBuiltin(callee: Callee): callee is Builtin {
  return callee !== 'new Date' && !isLibraryCall(callee)
}

export function isLibraryCall(callee: Callee): callee is LibraryCall {
  return (LIBRARY as readonly string[]).includes(callee)
}
