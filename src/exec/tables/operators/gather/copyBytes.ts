/**
 * Bytes copied into the arena.
 *
 * V8 copies to shared memory word by word where source and target have the same address modulo 8, and byte by byte, at a fourth of
 * that speed or less, where they do not. So bytes with another alignment go, a piece at a time, to a place in the arena that is aligned
 * as the source is, and from there to the target by a kernel.
 */
import { copyKernel } from '../../../kernels/tables/gatherKernels.ts'
import type { Arena } from '../../../memory/arena.ts'
import { arenaKernel } from '../arenaKernels.ts'

/** Bytes of a word. */
const WORD = 8
/** Below this many bytes the copy by way of the arena costs more than it saves. */
const SHORT = 256
/** Bytes of a piece: few enough for the processor's caches. */
const PIECE = 2 ** 17

/** Whether two addresses have the same alignment, so that V8 copies fast between them. */
export function beginAlike(from: number, to: number): boolean {
  return from % WORD === to % WORD
}

/** Copies `from`, from inside or outside the arena, to `to`, which lies in the arena and has the same length. */
export function copyBytes(arena: Arena, from: Uint8Array, to: Uint8Array): void {
  if (from.length < SHORT || beginAlike(from.byteOffset, to.byteOffset)) {
    to.set(from)
    return
  }
  const copy = arenaKernel(arena, 'copy', copyKernel)
  if (arena.owns(from)) {
    copy(from.byteOffset, from.length, to.byteOffset)
    return
  }
  const room = arena.reserve(Math.min(from.length, PIECE) + WORD, 'copies')
  try {
    const shift = from.byteOffset % WORD // pieces are whole words
    for (let at = 0; at < from.length; at += PIECE) {
      const piece = from.subarray(at, at + PIECE)
      ;(arena.view('u8', room + shift, piece.length) as Uint8Array).set(piece)
      copy(room + shift, piece.length, to.byteOffset + at)
    }
  } finally {
    arena.free(room)
  }
}
