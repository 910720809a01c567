/**
 * Full unrolling.
 *
 * Unrolls innermost loops of few iterations completely: the index is a constant in each, and so are offsets in a row.
 *
 *     for (let k = 0; k < 3; k++) s += w[idx[k]]      becomes      s += w[idx[0]];  s += w[idx[1]];  s += w[idx[2]]
 *
 * The engine unrolls loops by itself where they are small and call nothing. Those that it leaves, because elements are
 * checked one by one or an iteration is long, are faster unrolled: a sparse logistic regression of 16 features takes three
 * quarters of the time, a Gibbs step over 20 topics eleven twelfths. A dot product takes some 3 % more.
 */
import { type Code, I, OP } from '../../kir/instructions.ts'
import type { FewTurns, InnerLoop } from '../loops/innerLoop.ts'
import type { KnownAddress } from '../loops/wasmCode.ts'
import { type Access, accessesOf } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import { sizeOf } from '../vectors/wasmVectorSums.ts'

/** The most iterations of a loop that is unrolled. */
export const MOST_TURNS = 32

/** The most statements and operations of all iterations together. */
const LARGEST = 512

/** The statements and operations of an iteration from which the engine does not unroll a loop. */
const LONG_TURN = 16

/** Returns the iterations to unroll; undefined where the loop stays one. `accesses` are those that are checked before it. */
export function fewTurns({ few, body }: InnerLoop, accesses: ReadonlyMap<object, Access>): FewTurns | undefined {
  const size = sizeOf(body)
  if (few === undefined || few.values.length * size > LARGEST) return undefined
  return size >= LONG_TURN || accessesOf(body).some(({ node }) => !accesses.has(node)) ? few : undefined
}

/** Writes the iterations one after another, each followed by `after`. */
export function writtenOut(
  w: KernelWriter,
  { local, label, values }: FewTurns,
  { body }: InnerLoop,
  accesses: ReadonlyMap<object, Access>,
  after: Code,
): Code {
  const { known, literals } = w
  const turns = w.within({ kind: 'exit', label }, () =>
    values.map((value) => {
      w.known = new Map([...known, ...[...accesses].map(([node, { at }]): [object, KnownAddress] => [node, at(value)])])
      w.literals = new Map([...literals, [local, value]])
      return [I.block(), w.within({ kind: 'next', label }, () => w.block(body)), OP.end, after]
    }),
  )
  w.known = known
  w.literals = literals
  return [I.block(), ...turns, OP.end]
}
