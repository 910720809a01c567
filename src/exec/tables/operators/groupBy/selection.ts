/** The value at a place in the order of numbers (-0 before 0, NaN last), found without sorting all of them: Hoare's selection. */

/** A range of fewer values is sorted. */
const FEW = 24
/** The most rounds of partitioning; after them the range that is left is sorted, as pivots were bad. */
const MOST_ROUNDS = 64

/** The quantile `q`, 0 to 1, by linear interpolation between the two nearest values; null for no values. Changes the order of the values. */
export function quantileOf(values: Float64Array, q: number): number | null {
  if (values.length === 0) return null
  const numbers = withNaNsLast(values)
  const position = q * (values.length - 1)
  const place = Math.floor(position)
  const below = valueAt(values, place, numbers)
  const above = Math.ceil(position) === place ? below : leastFrom(values, place + 1, numbers)
  return below === above ? below : below + (above - below) * (position - place)
}

/** Moves NaNs behind all other values; returns the number of the others. */
function withNaNsLast(values: Float64Array): number {
  let numbers = 0
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number // i < length
    if (Number.isNaN(value)) continue
    values[i] = values[numbers] as number
    values[numbers++] = value
  }
  return numbers
}

/** The value at this place in the order; reorders the values so that none behind the place is less. */
function valueAt(values: Float64Array, place: number, numbers: number): number {
  if (place >= numbers) return Number.NaN
  let [first, last] = [0, numbers - 1]
  for (let round = 0; last - first >= FEW && round < MOST_ROUNDS; round++) {
    const pivot = middleOf(values[first] as number, values[(first + last) >> 1] as number, values[last] as number) // inside
    let [i, j] = [first, last]
    while (i <= j) {
      while ((values[i] as number) < pivot) i++ // the pivot, or what was exchanged, ends both
      while ((values[j] as number) > pivot) j--
      if (i > j) break
      const held = values[i] as number
      values[i++] = values[j] as number
      values[j--] = held
    }
    if (place <= j) last = j
    else if (place >= i) first = i
    else return signed(values, place, numbers)
  }
  values.subarray(first, last + 1).sort()
  return signed(values, place, numbers)
}

function middleOf(a: number, b: number, c: number): number {
  return a < b ? (b < c ? b : Math.max(a, c)) : a < c ? a : Math.max(b, c)
}

/** The value at its place; where it is a zero, with the sign that the zero of this place has: -0 comes first. */
function signed(values: Float64Array, place: number, numbers: number): number {
  const value = values[place] as number // the caller's place lies inside
  if (value !== 0) return value
  let before = 0
  for (let i = 0; i < numbers; i++) if ((values[i] as number) < 0 || Object.is(values[i], -0)) before++ // i < length
  return place < before ? -0 : 0
}

/** The least value from `place` on, which is the value of that place in the order, as `valueAt` has left the values. */
function leastFrom(values: Float64Array, place: number, numbers: number): number {
  if (place >= numbers) return Number.NaN
  let least = Number.POSITIVE_INFINITY
  for (let i = place; i < numbers; i++) if ((values[i] as number) < least) least = values[i] as number // i < length
  return least
}
