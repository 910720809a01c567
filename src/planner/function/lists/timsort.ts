/**
 * Sorting of lists by a function as V8 does it (timsort, `third_party/v8/builtins/array-sort.tq`), written out where a body calls it:
 * runs that ascend, or descend and are reversed, at least `minimum` long by binary insertion, are merged, in gallops where one of two wins
 * again and again. Each comparison is made that V8 makes, in its order, so that a function that contradicts itself, as with NaN, gives the
 * same list.
 *
 *     list       places        temp             runs
 *     elements   which goes    the shorter of   where each begins,
 *                where         two runs         how long it is
 *
 * Places are sorted, and the elements moved at the end, cycle by cycle: a list of objects has an array for each of their parts.
 */
import type { CallExpression } from 'acorn'
import { libraryFunction } from '../captures/libraryFunctions.ts'
import type { Lowering } from '../lower/lowering.ts'
import { REFUSED, type Value } from '../lower/value.ts'
import type { AnyFunction } from '../unit.ts'
import { elements, written } from './elements.ts'
import { CHANGING_METHODS, MOST_SORTED_BY } from './listMethods.ts'
import { arrayOfBody, type View } from './madeArrays.ts'

interface List {
  readonly length: number
  [index: number]: number
}
type Order = (a: number, b: number) => number
type Gallop = (list: List, order: Order, of: List, key: number, base: number, length: number, hint: number, isRight: boolean) => number

/** Most runs that are waiting: each is longer than the next two together. */
export const MOST_RUNS = 64

/**
 * Returns how many elements of a sorted run, `length` places from `base` on, come before a key: those that are less, or with `isRight` those
 * that are not greater. The search begins at `hint`, and goes on in doubled steps, up or down, then by halves: all by the one comparison
 * that is written here, since what is called is written out.
 */
export const gallop: Gallop = (list, order, of, key, base, length, hint, isRight) => {
  let phase = 0 // at the hint; 1: up, 2: down, 3: by halves
  let last = 0
  let offset = 1
  let most = 0
  let at = hint
  for (;;) {
    const place = of[base + at] as number
    const isBefore = order(list[isRight ? key : place] as number, list[isRight ? place : key] as number) < 0 !== isRight
    let isOver = false
    if (phase === 3) {
      if (isBefore) last = (at + 1) | 0
      else offset = at
    } else if (phase === 0) {
      phase = isBefore ? 1 : 2
      most = isBefore ? (length - hint) | 0 : (hint + 1) | 0
    } else if (isBefore === (phase === 1)) {
      last = offset
      offset = ((offset << 1) + 1) | 0
    } else isOver = true
    if (phase < 3 && (isOver || offset >= most)) {
      if (offset > most) offset = most
      const before = last
      last = phase === 1 ? (hint + last + 1) | 0 : (hint - offset + 1) | 0
      offset = phase === 1 ? (hint + offset) | 0 : (hint - before) | 0
      phase = 3
    }
    if (phase === 3) {
      if (last >= offset) return offset
      at = (last + offset) >> 1
    } else at = phase === 1 ? (hint + offset) | 0 : (hint - offset) | 0
  }
}

/** Sorts the list. `places` and `temp` have room for its elements, `runs` for two numbers of each run. */
export const sortMany = (list: List, order: Order, places: List, temp: List, runs: List, gallop: Gallop): void => {
  const length = list.length
  for (let k = 0; k < length; k++) places[k] = k
  let least = length
  let odd = 0
  while (least >= 64) {
    odd |= least & 1
    least >>= 1
  }
  least = (least + odd) | 0
  let streak = 7
  let count = 0
  let low = 0
  while (low < length || count > 1) {
    let n = -1 // the first of two runs that are merged; none while the last are each longer than the next two together
    if (count > 1) {
      n = (count - 2) | 0
      const isOver = low >= length
      const a = n > 0 ? (runs[2 * n - 1] as number) : 0
      const b = runs[2 * n + 1] as number
      const c = runs[2 * n + 3] as number
      const isKept = (n < 1 || a > b + c) && (n < 2 || (runs[2 * n - 3] as number) > a + b)
      if (isOver ? n > 0 && a < c : !isKept && a < c) n = (n - 1) | 0
      else if (!isOver && isKept && b > c) n = -1
    }
    if (n < 0) {
      // the next run
      let run = 1
      if (low + 1 < length) {
        run = 2
        let last = places[low + 1] as number
        const descends = order(list[last] as number, list[places[low] as number] as number) < 0
        while (low + run < length) {
          const next = places[low + run] as number
          if (order(list[next] as number, list[last] as number) < 0 !== descends) break
          last = next
          run = (run + 1) | 0
        }
        if (descends)
          for (let k = 0; k < run >> 1; k++) {
            const place = places[low + k] as number
            places[low + k] = places[low + run - 1 - k] as number
            places[low + run - 1 - k] = place
          }
      }
      const forced = least < length - low ? least : length - low
      for (; run < forced; run = (run + 1) | 0) {
        const pivot = places[low + run] as number
        let left = low
        let right = low + run
        while (left < right) {
          const middle = (left + right) >> 1
          if (order(list[pivot] as number, list[places[middle] as number] as number) < 0) right = middle
          else left = (middle + 1) | 0
        }
        for (let at = low + run; at > left; at--) places[at] = places[at - 1] as number
        places[left] = pivot
      }
      runs[2 * count] = low
      runs[2 * count + 1] = run
      count = (count + 1) | 0
      low = (low + run) | 0
      continue
    }
    // merge runs n and n + 1
    let base = runs[2 * n] as number
    let ofA = runs[2 * n + 1] as number
    const baseB = runs[2 * n + 2] as number
    let ofB = runs[2 * n + 3] as number
    runs[2 * n + 1] = ofA + ofB
    if (n === count - 3) {
      runs[2 * n + 2] = runs[2 * n + 4] as number
      runs[2 * n + 3] = runs[2 * n + 5] as number
    }
    count = (count - 1) | 0
    const skipped = gallop(list, order, places, places[baseB] as number, base, ofA, 0, true)
    base = (base + skipped) | 0
    ofA = (ofA - skipped) | 0
    if (ofA === 0) continue
    ofB = gallop(list, order, places, places[base + ofA - 1] as number, baseB, ofB, ofB - 1, false)
    if (ofB === 0) continue
    if (ofA <= ofB) {
      for (let k = 0; k < ofA; k++) temp[k] = places[base + k] as number
      let to = base
      let a = 0
      let b = baseB
      places[to] = places[b] as number
      to = (to + 1) | 0
      b = (b + 1) | 0
      ofB = (ofB - 1) | 0
      let isDone = ofB === 0 || ofA === 1
      while (!isDone) {
        let winsA = 0
        let winsB = 0
        while (!isDone && winsA < streak && winsB < streak) {
          if (order(list[places[b] as number] as number, list[temp[a] as number] as number) < 0) {
            places[to] = places[b] as number
            to = (to + 1) | 0
            b = (b + 1) | 0
            winsB = (winsB + 1) | 0
            ofB = (ofB - 1) | 0
            winsA = 0
            isDone = ofB === 0
          } else {
            places[to] = temp[a] as number
            to = (to + 1) | 0
            a = (a + 1) | 0
            winsA = (winsA + 1) | 0
            ofA = (ofA - 1) | 0
            winsB = 0
            isDone = ofA === 1
          }
        }
        if (isDone) break
        streak = (streak + 1) | 0
        let isFirst = true
        while (!isDone && (isFirst || winsA >= 7 || winsB >= 7)) {
          isFirst = false
          streak = streak > 2 ? (streak - 1) | 0 : 1
          winsA = gallop(list, order, temp, places[b] as number, a, ofA, 0, true)
          for (let k = 0; k < winsA; k++) places[to + k] = temp[a + k] as number
          to = (to + winsA) | 0
          a = (a + winsA) | 0
          ofA = (ofA - winsA) | 0
          if (winsA > 0 && ofA <= 1) isDone = true
          else {
            places[to] = places[b] as number
            to = (to + 1) | 0
            b = (b + 1) | 0
            ofB = (ofB - 1) | 0
            if (ofB === 0) isDone = true
            else {
              winsB = gallop(list, order, places, temp[a] as number, b, ofB, 0, false)
              for (let k = 0; k < winsB; k++) places[to + k] = places[b + k] as number
              to = (to + winsB) | 0
              b = (b + winsB) | 0
              ofB = (ofB - winsB) | 0
              if (winsB > 0 && ofB === 0) isDone = true
              else {
                places[to] = temp[a] as number
                to = (to + 1) | 0
                a = (a + 1) | 0
                ofA = (ofA - 1) | 0
                isDone = ofA === 1
              }
            }
          }
        }
        if (!isDone) streak = (streak + 1) | 0
      }
      // CopyB when ofA === 1 with ofB > 0, else Succeed
      for (let k = 0; k < ofB; k++) places[to + k] = places[b + k] as number
      for (let k = 0; k < ofA; k++) places[to + ofB + k] = temp[a + k] as number
    } else {
      for (let k = 0; k < ofB; k++) temp[k] = places[baseB + k] as number
      let to = (baseB + ofB - 1) | 0
      let b = (ofB - 1) | 0
      let a = (base + ofA - 1) | 0
      places[to] = places[a] as number
      to = (to - 1) | 0
      a = (a - 1) | 0
      ofA = (ofA - 1) | 0
      let isDone = ofA === 0 || ofB === 1
      while (!isDone) {
        let winsA = 0
        let winsB = 0
        while (!isDone && winsA < streak && winsB < streak) {
          if (order(list[temp[b] as number] as number, list[places[a] as number] as number) < 0) {
            places[to] = places[a] as number
            to = (to - 1) | 0
            a = (a - 1) | 0
            winsA = (winsA + 1) | 0
            ofA = (ofA - 1) | 0
            winsB = 0
            isDone = ofA === 0
          } else {
            places[to] = temp[b] as number
            to = (to - 1) | 0
            b = (b - 1) | 0
            winsB = (winsB + 1) | 0
            ofB = (ofB - 1) | 0
            winsA = 0
            isDone = ofB === 1
          }
        }
        if (isDone) break
        streak = (streak + 1) | 0
        let isFirst = true
        while (!isDone && (isFirst || winsA >= 7 || winsB >= 7)) {
          isFirst = false
          streak = streak > 2 ? (streak - 1) | 0 : 1
          winsA = ofA - gallop(list, order, places, temp[b] as number, base, ofA, ofA - 1, true)
          to = (to - winsA) | 0
          a = (a - winsA) | 0
          for (let k = winsA; k > 0; k--) places[to + k] = places[a + k] as number
          ofA = (ofA - winsA) | 0
          if (winsA > 0 && ofA === 0) isDone = true
          else {
            places[to] = temp[b] as number
            to = (to - 1) | 0
            b = (b - 1) | 0
            ofB = (ofB - 1) | 0
            if (ofB === 1) isDone = true
            else {
              winsB = ofB - gallop(list, order, temp, places[a] as number, 0, ofB, ofB - 1, false)
              to = (to - winsB) | 0
              b = (b - winsB) | 0
              for (let k = winsB; k > 0; k--) places[to + k] = temp[b + k] as number
              ofB = (ofB - winsB) | 0
              if (winsB > 0 && ofB <= 1) isDone = true
              else {
                places[to] = places[a] as number
                to = (to - 1) | 0
                a = (a - 1) | 0
                ofA = (ofA - 1) | 0
                isDone = ofA === 0
              }
            }
          }
        }
        if (!isDone) streak = (streak + 1) | 0
      }
      // CopyA: rest of a moves up, then what is left of temp before it
      to = (to - ofA) | 0
      a = (a - ofA) | 0
      for (let k = ofA; k > 0; k--) places[to + k] = places[a + k] as number
      for (let k = 0; k < ofB; k++) places[to - k] = temp[b - k] as number
    }
  }
  // the elements go to their places, cycle by cycle
  for (let start = 0; start < length; start++) {
    if ((places[start] as number) >= 0) {
      const value = list[start] as number
      let at = start
      while ((places[at] as number) !== start) {
        const from = places[at] as number
        list[at] = list[from] as number
        places[at] = -1
        at = from
      }
      list[at] = value
      places[at] = -1
    }
  }
}

/** Emits the sort of a list, of which `array` is the memory, or a part of it. */
export function sortedBy(l: Lowering, over: Value, array: string, node: CallExpression): Value {
  const room = l.locals.get(array)?.at(-1) ?? 0
  const few = { name: 'sort', f: CHANGING_METHODS.sortBy as AnyFunction } // it exists
  if (room <= MOST_SORTED_BY) return written(l, over, few, node).kind === 'refused' ? REFUSED : over
  const args = elements(l, node.arguments)
  const lists = { places: room, temp: room, runs: 2 * MOST_RUNS }
  const made = Object.entries(lists).map(([name, length]): View | undefined => {
    const one = arrayOfBody(l, { name: `${array}_${name}`, dtype: 'i32', node, text: l.span(node).text }, [length])
    return one === undefined ? undefined : { kind: 'view', array: one, prefix: [], rank: 1 }
  })
  if (args === undefined || made.includes(undefined)) return REFUSED
  const searching = libraryFunction(l, gallop as AnyFunction, 'gallop', node)
  const given = [over, ...args, ...(made as View[]), searching] // none is undefined
  return l.verbs.inline(l, libraryFunction(l, sortMany as AnyFunction, 'sort', node), given, node).kind === 'refused' ? REFUSED : over
}
