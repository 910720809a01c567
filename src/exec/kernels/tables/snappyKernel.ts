/**
 * Snappy decompression in WebAssembly over the arena.
 *
 *     [unpacked size] [tag] …       tag …00          literal: copy the bytes that follow the tag
 *                                   tag …01 10 11    match: copy bytes of the output; the tag says how many, and how far back they are
 *
 * Statement: the kernel writes the `size` bytes that the source unpacks to, or traps, where it unpacks to fewer or to more, ends
 * too early, or goes back too far. It may read bytes behind `source + length`, which affect nothing, and writes none but those
 * from `out` to `out + size`.
 *
 * https://github.com/google/snappy/blob/main/format_description.txt
 */
import { type Code, get, I, num, OP, SIMD, set, tee } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { element } from './groupFrame.ts'
import { numbered } from './sortKernels.ts'

/** The bytes that are copied at once; the copy may write beyond the last byte where the output has room for it. */
const VECTOR = 16
/** The same for a match whose bytes overlap within a vector. */
const WORD = 8
/** A literal's tag holds its length less 1 where that is below this; from here on it says how many bytes the length takes. */
const LONG = 60
/** The most bytes that a tag without a separate length reads or writes, vectors included. */
const QUICK = 96
/** The longest literal that lies in one word with its tag, the next tag and that tag's two bytes. */
const FEW = 4

/** run(source, length, out, size): unpacks into `out`. */
export function snappyKernel(): KernelModule {
  const { source, length, out, size, at, done, total, shift, tag, word, count, back, left, room, from, to, wide } = numbered(
    ...(['source', 'length', 'out', 'size'] as const),
    ...(['at', 'done', 'total', 'shift', 'tag', 'word', 'count', 'back', 'left', 'room', 'from', 'to', 'wide'] as const),
  )
  const trapIf = (test: Code): Code => [test, I.if(), OP.unreachable, OP.end]
  const moved = (local: number, by: Code): Code => [get(local), by, OP.i32Add, set(local)]
  const while_ = (test: Code, body: Code): Code => [I.block(), I.loop, test, OP.i32Eqz, I.brIf(1), body, I.br(0), OP.end, OP.end]
  const nextByte = [element(source, at, 0), I.memory(OP.i32Load8U), set(tag), moved(at, num(1))]
  const readTotal = [
    [I.loop, nextByte, get(total), get(tag), num(127), OP.i32And, get(shift), OP.i32Shl, OP.i32Or, set(total), moved(shift, num(7))],
    [get(tag), num(127), OP.i32GtU, get(shift), num(35), OP.i32LtU, OP.i32And, I.brIf(0), OP.end],
    trapIf([get(tag), num(127), OP.i32GtU, get(at), get(length), OP.i32GtS, OP.i32Or, get(total), get(size), OP.i32Ne, OP.i32Or]),
  ]
  const onwards = (bytes: number): Code => [[moved(from, num(bytes)), moved(to, num(bytes)), get(left), num(bytes), OP.i32Sub, tee(left)]]
  const vector = [get(to), get(from), I.memory(SIMD.load), I.memory(SIMD.store), onwards(VECTOR)]
  const single = [get(to), get(from), I.memory(OP.i32Load8U), I.memory(OP.i32Store8), onwards(1), OP.drop]
  const singles = while_([get(left), num(0), OP.i32GtS], single)
  const hasRoom = (bytes: number): Code => [get(room), get(count), num(bytes), OP.i32Add, OP.i32GeS]
  /** Copies from where nothing is written meanwhile: at least 16 bytes back, or the source. */
  const apart = [
    [hasRoom(VECTOR), I.if(), I.loop, vector, num(0), OP.i32GtS, I.brIf(0), OP.end, OP.else],
    [while_([get(left), num(VECTOR), OP.i32GeS], [vector, OP.drop]), singles, OP.end],
  ]
  const wordCopied = [get(to), get(from), I.memory(OP.i64Load), I.memory(OP.i64Store)]
  /** Doubles the period of a match that repeats after fewer than 8 bytes, until a word can be copied. */
  const spread = while_(
    [get(back), num(WORD), OP.i32LtS, get(left), num(0), OP.i32GtS, OP.i32And],
    [wordCopied, moved(to, get(back)), [get(left), get(back), OP.i32Sub, set(left)], moved(back, get(back))],
  )
  const near = [
    [hasRoom(WORD), I.if(), spread],
    [while_([get(left), num(0), OP.i32GtS], [wordCopied, onwards(WORD), OP.drop]), OP.else, singles, OP.end],
  ]
  const following = [
    [get(tag), num(2), OP.i32ShrU, tee(count), num(LONG), OP.i32GeU, I.if()],
    // the lower bytes of the word, as many as the length takes
    [get(word), num(-1), num(LONG + 3), get(count), OP.i32Sub, num(3), OP.i32Shl, OP.i32ShrU, OP.i32And],
    [moved(at, [get(count), num(LONG - 1), OP.i32Sub]), set(count), OP.end],
    trapIf([get(at), get(length), OP.i32GeS]),
    trapIf([get(count), get(length), get(at), OP.i32Sub, OP.i32GeU, get(count), get(room), OP.i32GeU, OP.i32Or]),
    [moved(count, num(1)), get(count), set(left), element(source, at, 0), set(from), moved(at, get(count)), apart],
  ]
  const short = [
    [get(tag), num(2), OP.i32ShrU, num(7), OP.i32And, num(4), OP.i32Add, set(count)],
    [get(tag), num(5), OP.i32ShrU, num(8), OP.i32Shl, get(word), num(255), OP.i32And, OP.i32Or, set(back), moved(at, num(1))],
  ]
  const far = [
    [get(tag), num(2), OP.i32ShrU, num(1), OP.i32Add, set(count), get(tag), num(1), OP.i32And, I.if()],
    [get(word), set(back), moved(at, num(4)), OP.else, get(word), num(0xffff), OP.i32And, set(back), moved(at, num(2)), OP.end],
  ]
  const before = [
    [get(tag), num(3), OP.i32And, num(1), OP.i32Eq, I.if(), short, OP.else, far, OP.end],
    trapIf([get(at), get(length), OP.i32GtS, get(count), get(room), OP.i32GtU, OP.i32Or]),
    trapIf([get(back), num(1), OP.i32Sub, get(done), OP.i32GeU]), // traps on a distance of 0, too
    [get(count), set(left), get(to), get(back), OP.i32Sub, set(from)],
    [get(back), num(VECTOR), OP.i32GeU, I.if(), apart, OP.else, near, OP.end],
  ]
  /** Copies at most 64 bytes, without a loop; source and target are at least 16 bytes apart. */
  const upTo64 = [
    [get(to), get(from), I.memory(SIMD.load), I.memory(SIMD.store), get(count), num(VECTOR), OP.i32GtU, I.if()],
    [VECTOR, 2 * VECTOR, 3 * VECTOR].map((i) => [get(to), get(from), I.memory(SIMD.load, i), I.memory(SIMD.store, i)]),
    OP.end,
  ]
  const shortBack = [get(tag), num(5), OP.i32ShrU, num(8), OP.i32Shl, get(word), num(8), OP.i32ShrU, num(255), OP.i32And, OP.i32Or]
  const shortCount = [get(tag), num(2), OP.i32ShrU, num(7), OP.i32And, num(4), OP.i32Add]
  const tagCount = [get(tag), num(2), OP.i32ShrU, num(1), OP.i32Add]
  const kind = [get(tag), num(3), OP.i32And]
  const places = [element(out, done, 0), set(to), get(size), get(done), OP.i32Sub, set(room)]
  const behind = [get(count), num(1), OP.i32Add]
  /** A literal of a few bytes is in the word already, and so is the next tag: no load waits for another. */
  const fewFollowing = [
    [get(to), get(wide), I.i64Const(8), OP.i64ShrU, I.memory(OP.i64Store32), moved(at, behind), moved(done, get(count))],
    [get(wide), behind, num(3), OP.i32Shl, OP.i64ExtendI32U, OP.i64ShrU, OP.i32WrapI64, tee(word), num(255), OP.i32And, set(tag), places],
  ]
  /** The common tags, far from both ends of the data. Leaves the outer block for those that need more checks; else the loop continues. */
  const quick = [
    [get(room), num(QUICK), OP.i32LtS, get(length), get(at), OP.i32Sub, num(QUICK), OP.i32LtS, OP.i32Or, I.brIf(0)],
    [I.block(), kind, I.brIf(0), tagCount, tee(count), num(LONG), OP.i32GtU, I.brIf(1)],
    [get(count), num(FEW), OP.i32LeU, I.if(), fewFollowing, kind, I.brIf(1), I.br(3), OP.end],
    [element(source, at, 0), num(1), OP.i32Add, set(from), upTo64, moved(at, behind), moved(done, get(count)), I.br(2), OP.end],
    [kind, num(3), OP.i32Eq, I.brIf(0)],
    [shortBack, get(word), num(8), OP.i32ShrU, num(0xffff), OP.i32And, kind, num(1), OP.i32Eq, tee(left), OP.select, set(back)],
    [get(back), num(VECTOR), OP.i32LtU, get(back), get(done), OP.i32GtU, OP.i32Or, I.brIf(0)],
    [shortCount, tagCount, get(left), OP.select, set(count), get(to), get(back), OP.i32Sub, set(from), upTo64],
    [moved(at, [kind, num(1), OP.i32Add]), moved(done, get(count))],
  ]
  const each = [
    [element(source, at, 0), I.memory(OP.i64Load), tee(wide), OP.i32WrapI64, tee(word), num(255), OP.i32And, set(tag), places],
    [I.block(), quick, I.br(1), OP.end],
    [moved(at, num(1)), element(source, at, 0), I.memory(OP.i32Load), set(word)],
    [kind, OP.i32Eqz, I.if(), following, OP.else, before, OP.end, moved(done, get(count))],
  ]
  return {
    imports: [],
    parameters: ['address', 'i32', 'address', 'i32'],
    locals: [...new Array<'i32'>(12).fill('i32'), 'i64'],
    body: [readTotal, while_([get(at), get(length), OP.i32LtS], each), trapIf([get(done), get(size), OP.i32Ne])],
  }
}
