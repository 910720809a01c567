/**
 * The first difference of two values: the one comparison behind all helpers of the test kit.
 *
 * Numbers are compared as `Object.is` does (NaN is NaN, 0 is not -0), or within a tolerance; everything else by content.
 */

export interface Difference {
  /** The place of the difference, as `[3].total`; empty when the values themselves differ. */
  readonly path: string
  readonly left: unknown
  readonly right: unknown
}

/** Whether two numbers agree: |a - b| <= tolerance * max(1, |a|, |b|); with tolerance 0 their bits, all NaNs alike. An infinity agrees with itself only. */
export function numbersAgree(a: number, b: number, tolerance: number): boolean {
  if (Object.is(a, b)) return true
  if (tolerance === 0) return false
  return Number.isFinite(a) && Number.isFinite(b) && Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(a), Math.abs(b))
}

/** The first place where two values differ; undefined where they are equal. Arrays, typed arrays, dates, maps, sets and plain objects are entered. */
export function differenceBetween(left: unknown, right: unknown, tolerance = 0, path = ''): Difference | undefined {
  const different = { path, left, right }
  if (typeof left === 'number' && typeof right === 'number') return numbersAgree(left, right, tolerance) ? undefined : different
  if (Object.is(left, right)) return undefined
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return different
  if (Object.getPrototypeOf(left) !== Object.getPrototypeOf(right) && !(isPlain(left) && isPlain(right))) return different
  if (left instanceof Date && right instanceof Date) return Object.is(left.getTime(), right.getTime()) ? undefined : different
  const a = partsOf(left)
  const b = partsOf(right)
  if (a === undefined || b === undefined) return different
  for (const [name, value] of a) {
    const inner = b.has(name)
      ? differenceBetween(value, b.get(name), tolerance, path + name)
      : { path: path + name, left: value, right: undefined }
    if (inner !== undefined) return inner
  }
  for (const [name, value] of b) if (!a.has(name)) return { path: path + name, left: undefined, right: value }
  return undefined
}

/** Writes where two values differ, and both values under their names. */
export function differenceText({ path, left, right }: Difference, names: readonly [left: string, right: string]): string {
  const width = Math.max(...names.map((name) => name.length))
  return `at ${path === '' ? 'the value itself' : path}\n  ${names[0].padEnd(width)}  ${valueText(left)}\n  ${names[1].padEnd(width)}  ${valueText(right)}`
}

/** Writes a value so that different values have different texts; rows of unordered tables are sorted by it. */
export function valueText(value: unknown): string {
  if (Object.is(value, -0)) return '-0'
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (value instanceof Date) return `Date(${value.getTime()})`
  const parts = partsOf(value)
  if (parts === undefined) return String(value)
  const kind = isPlain(value) || Array.isArray(value) ? '' : value.constructor.name
  return `${kind}{${[...parts].map(([name, part]) => `${name}: ${valueText(part)}`).join(', ')}}`
}

/** The parts of a value by name, `[0]` or `.field` (sorted: the order of fields does not count); undefined for a value without parts to compare. */
function partsOf(value: object): ReadonlyMap<string, unknown> | undefined {
  if (Array.isArray(value)) return indexed(value)
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return indexed(value as unknown as ArrayLike<unknown>)
  if (value instanceof Set) return new Map([...value].map((item) => [`<${valueText(item)}>`, item]))
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [`<${valueText(key)}>`, item]))
  if (!isPlain(value)) return undefined
  return new Map(
    Object.keys(value)
      .sort()
      .map((name) => [`.${name}`, (value as Readonly<Record<string, unknown>>)[name]]),
  )
}

function indexed(values: ArrayLike<unknown>): ReadonlyMap<string, unknown> {
  return new Map(Array.from(values, (value, i) => [`[${i}]`, value]))
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
