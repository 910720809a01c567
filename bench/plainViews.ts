/** Views of arrays as one would write them without the library: what a loop body is called with, run as it stands. */
import type { DenseStorage } from '../src/core/storage.ts'

export interface View {
  get(...key: number[]): number
  set(...keyAndValue: number[]): void
  row(i: number): View
}
export function viewOf({ data, strides }: DenseStorage): View {
  const copy = data.slice() as Float64Array // in memory of its own, as plain arrays are
  return new PlainView(copy, strides.length === 1 ? 0 : (strides[0] ?? 1))
}

class PlainView implements View {
  readonly data: Float64Array
  readonly width: number
  readonly view: PlainRow
  constructor(data: Float64Array, width: number) {
    this.data = data
    this.width = width
    this.view = new PlainRow(data)
  }
  get(i: number, j: number): number {
    return this.data[i * this.width + j] as number
  }
  set(i: number, j: number, value: number): void {
    this.data[i * this.width + j] = value
  }
  row(i: number): PlainRow {
    this.view.start = i * this.width
    return this.view
  }
}

class PlainRow implements View {
  readonly data: Float64Array
  start = 0
  constructor(data: Float64Array) {
    this.data = data
  }
  get(k: number): number {
    return this.data[this.start + k] as number
  }
  set(k: number, value: number): void {
    this.data[this.start + k] = value
  }
  row(): View {
    return this
  }
}
