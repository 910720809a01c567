/** Addresses as kernels find them in memory: 8 bytes, the lower half first. Kernels of 32-bit addresses use that half alone. */

/** Writes an address to two words from `at` on. It may be negative, as that of a row 0 that is not there. */
export function putAddress(words: Int32Array, at: number, address: number): void {
  words[at] = address
  words[at + 1] = Math.floor(address / 2 ** 32)
}

/** The address in two words, both of which were written before. */
export function addressAt(words: Int32Array, at: number): number {
  return (words[at + 1] as number) * 2 ** 32 + ((words[at] as number) >>> 0) // the caller's two words
}
