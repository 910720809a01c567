/**
 * Methods of lists as JavaScript that the lowering writes out where they are called, as it does with functions of the program:
 *
 *     row.some((v) => v > 3)       -->       for (let i = 0; i < row.length; i++) if (row[i] > 3) …
 *
 * Each does what the platform's method does of a list without holes, in its order. They name nothing that is not their own, not even
 * `undefined` or `Math`, and what they are given is what the body has: a row, an array of its own, a captured table.
 */

interface List {
  readonly length: number
  [index: number]: number
}
interface Grown extends List {
  readonly push: (value: number) => unknown
  readonly pop: () => unknown
}
type Test = (value: number, index: number, list: List) => boolean
type Order = (a: number, b: number) => number
type Fold = (sofar: number, value: number, index: number, list: List) => number

/** `reduce` without an initial value, which begins with the first element. */
function reduceFirst(list: List, fold: Fold): number {
  if (list.length === 0) throw new TypeError('Reduce of empty array with no initial value')
  let sofar = list[0] as number
  for (let i = 1; i < list.length; i++) sofar = fold(sofar, list[i] as number, i, list)
  return sofar
}

/** `reduce` with an initial value, as an object, or a list. */
export function reduceFrom(list: List, fold: Fold, init: number): number {
  let sofar = init
  for (let i = 0; i < list.length; i++) sofar = fold(sofar, list[i] as number, i, list)
  return sofar
}

/** `reduce` by a function that changes the initial value, and returns it. */
export function reduceInto(list: List, fold: Fold, init: number): number {
  for (let i = 0; i < list.length; i++) fold(init, list[i] as number, i, list)
  return init
}

/** `reduceRight` with an initial value. */
function reduceRight(list: List, fold: Fold, init: number): number {
  let sofar = init
  for (let i = list.length - 1; i >= 0; i--) sofar = fold(sofar, list[i] as number, i, list)
  return sofar
}

/** Returns a fold that is written out, by its name and how many arguments it is given; undefined for other methods. */
export function foldOf(name: string, count: number): ((list: List, ...args: never[]) => unknown) | undefined {
  if (name === 'reduce' && count === 1) return reduceFirst
  return name === 'reduceRight' && count === 2 ? reduceRight : undefined
}

/** Methods that leave the list as it is. */
export const LIST_METHODS: { readonly [name: string]: (list: List, ...args: never[]) => unknown } = {
  some: (list: List, test: Test) => {
    for (let i = 0; i < list.length; i++) if (test(list[i] as number, i, list)) return true
    return false
  },
  every: (list: List, test: Test) => {
    for (let i = 0; i < list.length; i++) if (!test(list[i] as number, i, list)) return false
    return true
  },
  find: (list: List, test: Test) => {
    for (let i = 0; i < list.length; i++) {
      const value = list[i] as number
      if (test(value, i, list)) return value
    }
    return void 0
  },
  findIndex: (list: List, test: Test) => {
    for (let i = 0; i < list.length; i++) if (test(list[i] as number, i, list)) return i
    return -1
  },
  findLast: (list: List, test: Test) => {
    for (let i = list.length - 1; i >= 0; i--) {
      const value = list[i] as number
      if (test(value, i, list)) return value
    }
    return void 0
  },
  findLastIndex: (list: List, test: Test) => {
    for (let i = list.length - 1; i >= 0; i--) if (test(list[i] as number, i, list)) return i
    return -1
  },
  at: (list: List, given: number) => {
    const whole = given | 0
    const i = whole < 0 ? list.length + whole : whole
    const isFar = given - whole >= 1 || whole - given >= 1 // more than 32 bits hold
    return i >= 0 && i < list.length && !isFar ? (list[i] as number) : void 0
  },
  indexOf: (list: List, wanted: number) => {
    for (let i = 0; i < list.length; i++) if (list[i] === wanted) return i
    return -1
  },
  lastIndexOf: (list: List, wanted: number) => {
    for (let i = list.length - 1; i >= 0; i--) if (list[i] === wanted) return i
    return -1
  },
  includes: (list: List, wanted: number) => {
    for (let i = 0; i < list.length; i++) {
      const value = list[i] as number
      if (value === wanted || (!(value < 0 || value >= 0) && !(wanted < 0 || wanted >= 0))) return true
    }
    return false
  },
}

/** Methods that change the list, which the body has made. */
export const CHANGING_METHODS: { readonly [name: string]: (list: List, ...args: never[]) => void } = {
  reverse: (list: List) => {
    for (let low = 0; low < list.length >> 1; low++) {
      const high = list.length - 1 - low
      const value = list[low] as number
      list[low] = list[high] as number
      list[high] = value
    }
  },
  copyWithin: (list: List, target: number, from: number, end = list.length) => {
    const length = list.length
    const place = (at: number): number => (at >= length ? length : at >= -length ? ((at | 0) < 0 ? length + (at | 0) : at | 0) : 0)
    const [to, first, last] = [place(target), place(from), place(end)]
    const count = last - first < length - to ? last - first : length - to
    if (first < to) for (let k = count - 1; k >= 0; k--) list[to + k] = list[first + k] as number
    else for (let k = 0; k < count; k++) list[to + k] = list[first + k] as number
  },
  /** Sorts by value, as typed arrays do: -0 before 0, and NaN last. Shell sort is enough, since equal numbers are the same. */
  sort: (list: List) => {
    for (let gap = list.length > 32 ? 13 * (list.length >> 5) : 1; gap > 0; gap = gap > 1 ? (gap / 3) | 0 : 0) {
      for (let from = gap; from < list.length; from++) {
        const value = list[from] as number
        let at = from
        while (at >= gap) {
          const before = list[at - gap] as number
          const isLess =
            value < before ||
            (value === 0 && before === 0 && 1 / value < 1 / before) ||
            (!(before < 0 || before >= 0) && (value < 0 || value >= 0))
          if (!isLess) break
          list[at] = before
          at -= gap
        }
        list[at] = value
      }
    }
  },
  /**
   * Sorts as V8 does for fewer than 64 elements (timsort's binary insertion): a run at the beginning that ascends, or descends and is
   * reversed, into which the others are inserted by binary search. Orders that contradict themselves, as with NaN, would show another
   * algorithm.
   */
  sortBy: (list: List, order: Order) => {
    const length = list.length
    let run = 1
    if (length > 1) {
      let last = list[1] as number
      run = 2
      if (order(last, list[0] as number) < 0) {
        while (run < length) {
          const next = list[run] as number
          if (!(order(next, last) < 0)) break
          last = next
          run++
        }
        for (let low = 0; low < run >> 1; low++) {
          const value = list[low] as number
          list[low] = list[run - 1 - low] as number
          list[run - 1 - low] = value
        }
      } else {
        while (run < length) {
          const next = list[run] as number
          if (order(next, last) < 0) break
          last = next
          run++
        }
      }
    }
    for (let from = run; from < length; from++) {
      const value = list[from] as number
      let low = 0
      let high = from
      while (low < high) {
        const middle = (low + high) >> 1
        if (order(value, list[middle] as number) < 0) high = middle
        else low = middle + 1
      }
      for (let at = from; at > low; at--) list[at] = list[at - 1] as number
      list[low] = value
    }
  },
}

/** Returns the place at which a splice begins; places below 0 count from the end. */
export const spliceBegin = (list: List, from: number): number => {
  if (from >= list.length) return list.length
  const whole = from >= -list.length ? from | 0 : 0
  return whole < 0 ? list.length + whole : whole
}

/** Takes elements out of a list. */
export const cutOut = (list: Grown, first: number, count: number): void => {
  const left = list.length - first
  const out = count >= left ? left : count > 0 ? count | 0 : 0
  if (out > 0) {
    const length = list.length - out
    for (let k = first; k < length; k++) list[k] = list[k + out] as number
    for (let k = 0; k < out; k++) list.pop()
  }
}

/** Returns how many elements a splice takes out. */
export const spliceCount = (list: List, first: number, count: number): number => {
  const left = list.length - first
  return count >= left ? left : count > 0 ? count | 0 : 0
}

/** Gives one element of a list another value; places below 0 count from the end. */
export const withList = (list: List, given: number, value: number): void => {
  const whole = given > -list.length - 1 && given < list.length ? given | 0 : 0
  const isInside = !(given <= -list.length - 1 || given >= list.length) && whole < list.length // -0.5 and NaN are place 0
  if (!isInside) throw new RangeError(`Invalid index : ${given}`)
  list[whole < 0 ? list.length + whole : whole] = value
}

/** Gives one element of a typed array another value. */
export const withTyped = (list: List, given: number, value: number): void => {
  const whole = given > -list.length - 1 && given < list.length ? given | 0 : 0
  const isInside = !(given <= -list.length - 1 || given >= list.length) && whole < list.length // -0.5 and NaN are place 0
  if (!isInside) throw new RangeError('Invalid typed array index')
  list[whole < 0 ? list.length + whole : whole] = value
}

/** Puts a value between two elements of a list. */
export const insertAt = (list: Grown, first: number, value: number): void => {
  list.push(value)
  for (let k = list.length - 1; k > first; k--) list[k] = list[k - 1] as number
  list[first] = value
}

/** Most elements that are sorted by a function. */
export const MOST_SORTED_BY = 63
