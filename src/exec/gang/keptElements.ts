/**
 * What arrays held before a pass that may not come to its end: as a process is lost, they are put back, and those that are left run the
 * pass again.
 */
import { bytesOf } from './changes.ts'

export class KeptElements {
  #regions: readonly ArrayBufferView[] = []
  /** Of the pass before, used again where they are as long: fresh memory costs more than the copy. */
  #copies: readonly Uint8Array[] | undefined

  keep(regions: readonly ArrayBufferView[]): void {
    const before = this.#copies ?? []
    this.#regions = regions
    try {
      this.#copies = regions.map((region, i) => {
        const copy = before[i]?.length === region.byteLength ? (before[i] as Uint8Array) : new Uint8Array(region.byteLength)
        copy.set(bytesOf(region))
        return copy
      })
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      this.#copies = undefined // there is no memory for them: a loss is an error then
    }
  }

  /** Whether there was something to put back. */
  restore(): boolean {
    if (this.#copies === undefined) return false
    for (const [i, copy] of this.#copies.entries()) bytesOf(this.#regions[i] as ArrayBufferView).set(copy) // as many
    return true
  }

  forget(): void {
    this.#regions = []
    this.#copies = undefined
  }
}
