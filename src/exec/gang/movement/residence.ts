/**
 * The processes that have the last values of an array's elements, whichever loop has brought them there: the next loop need not be sent
 * these.
 *
 *              0        9    18    30     rows, cut where somebody's elements begin or end
 *     home     |########|####|######|     the process that runs the program
 *     rank 1   |........|####|######|
 *     rank 2   |........|....|######|
 *
 * A residence tells of one version of the array. Cells of a loop lie in cells of the residence that it begins with: they are cut at these
 * bounds as well.
 */
import type { Box, Cells, Holders } from './transfers.ts'

type Bounds = Cells['bounds']

export interface Residence<Process> {
  /** The bounds of cells along each axis, from 0 to the extent. */
  readonly bounds: Bounds
  /** For each process, 1 for each cell whose last values it has. A process without an entry has nothing. */
  readonly has: ReadonlyMap<Process, Uint8Array>
}

export function cellCountOf(bounds: Bounds): number {
  return bounds.reduce((cells, along) => cells * Math.max(0, along.length - 1), 1)
}

/** The holders of a loop's cells, each of which lies in a cell of the residence: a row of cells for each process. */
export function holdersIn<Process>({ bounds, has }: Residence<Process>, inner: Bounds, processes: readonly Process[]): Holders {
  const count = cellCountOf(inner)
  const holders = new Uint8Array(count * processes.length)
  const places = inner.map((along, axis) => placesIn(along, bounds[axis] as readonly number[])) // of one array
  for (let cell = 0; cell < count; cell++) {
    const outer = outerCell(cell, inner, bounds, places)
    for (const [i, process] of processes.entries()) holders[i * count + cell] = has.get(process)?.[outer] ?? 0
  }
  return holders
}

/** The residence of the whole array by the holders of a loop's cells; `home` has all elements outside of these. */
export function residenceOf<Process>(
  inner: Bounds,
  holders: Holders,
  { processes, home, shape }: { readonly processes: readonly Process[]; readonly home: Process; readonly shape: readonly number[] },
): Residence<Process> {
  const bounds = shape.map((extent, axis) => [...new Set([0, ...(inner[axis] ?? []), extent])].sort((a, b) => a - b))
  const count = cellCountOf(bounds)
  const innerCount = cellCountOf(inner)
  const places = bounds.map((along, axis) => {
    const own = inner[axis] ?? []
    const at = new Map(own.slice(0, -1).map((from, place) => [from, place]))
    return along.slice(0, -1).map((from) => at.get(from) ?? -1)
  })
  const has = new Map(processes.map((process) => [process, new Uint8Array(count)]))
  for (let cell = 0; cell < count; cell++) {
    const at = outerCell(cell, bounds, inner, places)
    for (const [i, process] of processes.entries()) {
      const one = has.get(process) as Uint8Array // made above
      one[cell] = at < 0 ? Number(process === home) : (holders[i * innerCount + at] as number)
    }
  }
  return coarsened({ bounds, has })
}

/** Numbers of the cells that a process does not have. */
export function missingCells<Process>({ bounds, has }: Residence<Process>, process: Process): number[] {
  const own = has.get(process)
  return Array.from({ length: cellCountOf(bounds) }, (_, cell) => cell).filter((cell) => own?.[cell] !== 1)
}

/** Ranges of the first axis in which a process has any cell. */
export function rowsWith<Process>({ bounds, has }: Residence<Process>, process: Process): (readonly [from: number, to: number])[] {
  const own = has.get(process)
  const [along = [], ...inner] = bounds
  const cells = cellCountOf(inner)
  return along.slice(0, -1).flatMap((from, at) => {
    const isThere = own?.subarray(at * cells, (at + 1) * cells).includes(1) === true
    return isThere ? [[from, along[at + 1] as number] as const] : []
  })
}

/** The residence after one process was given all elements. */
export function withAll<Process>({ bounds, has }: Residence<Process>, process: Process): Residence<Process> {
  return coarsened({ bounds, has: new Map([...has, [process, new Uint8Array(cellCountOf(bounds)).fill(1)]]) })
}

export function wholeBox(shape: readonly number[]): Box {
  return shape.flatMap((extent) => [0, extent])
}

/** Whether all bounds of the residence are among `inner`, so that each inner cell lies in one of its cells. */
export function liesIn({ bounds }: Pick<Residence<unknown>, 'bounds'>, inner: Bounds): boolean {
  return bounds.every((along, axis) => {
    const own = new Set(inner[axis])
    return along.every((value) => own.has(value))
  })
}

/** The cell of `along` in which each inner cell along an axis lies. */
function placesIn(inner: readonly number[], along: readonly number[]): number[] {
  let place = 0
  return inner.slice(0, -1).map((from) => {
    while ((along[place + 1] ?? Number.POSITIVE_INFINITY) <= from) place++
    return place
  })
}

/** The number of the cell of `outer` in which an inner cell lies, by `places` along each axis; -1 where it lies outside. */
function outerCell(cell: number, inner: Bounds, outer: Bounds, places: readonly (readonly number[])[]): number {
  let [rest, found, factor] = [cell, 0, 1]
  for (let axis = inner.length - 1; axis >= 0; axis--) {
    const width = (inner[axis] as readonly number[]).length - 1
    const place = places[axis]?.[rest % width] ?? -1
    if (place < 0) return -1
    rest = Math.floor(rest / width)
    found += place * factor
    factor *= (outer[axis] as readonly number[]).length - 1
  }
  return found
}

/** Merges neighbouring slabs of cells along each axis that the same processes have. */
function coarsened<Process>(residence: Residence<Process>): Residence<Process> {
  let { bounds, has } = residence
  for (let axis = 0; axis < bounds.length; axis++) {
    const along = bounds[axis] as readonly number[]
    const inner = cellCountOf(bounds.slice(axis + 1))
    const width = along.length - 1
    const isSame = (at: number): boolean => {
      for (const own of has.values()) {
        for (let first = at * inner; first < own.length; first += width * inner)
          for (let i = 0; i < inner; i++) if (own[first + i] !== own[first + i - inner]) return false
      }
      return true
    }
    const kept = Array.from({ length: width }, (_, at) => at).filter((at) => at === 0 || !isSame(at))
    if (kept.length === width) continue
    const narrowed = (own: Uint8Array): Uint8Array => {
      const found: number[] = []
      for (let first = 0; first < own.length; first += width * inner)
        for (const at of kept) found.push(...own.subarray(first + at * inner, first + (at + 1) * inner))
      return Uint8Array.from(found)
    }
    const next = kept.map((at) => along[at] as number)
    const end = along[width] as number
    bounds = bounds.map((one, i) => (i === axis ? [...next, end] : one))
    has = new Map([...has].map(([process, own]) => [process, narrowed(own)]))
  }
  return { bounds, has }
}
