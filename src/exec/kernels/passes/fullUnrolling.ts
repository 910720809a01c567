/**
 * Full unrolling.
 *
 * Innermost loops of few turns, written out turn by turn: the index is a number in each, and so are the places in a row.
 *
 *     for (let k = 0; k < 3; k++) s += w[idx[k]]      becomes      s += w[idx[0]];  s += w[idx[1]];  s += w[idx[2]]
 *
 * The engine unrolls loops by itself where they are small and call nothing. What it leaves as it is, because elements are
 * checked one by one or a turn is long, takes less time written out: a sparse logistic regression of 16 features three
 * quarters of it, a Gibbs step over 20 topics eleven twelfths. A dot product takes more, by some 3 %.
 */
import { type Code, I, OP } from '../../kir/instructions.ts'
import type { FewTurns, InnerLoop } from '../loops/innerLoop.ts'
import type { KnownAddress } from '../loops/wasmCode.ts'
import { type Access, accessesOf } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import { sizeOf } from '../vectors/wasmVectorSums.ts'

/** Loops of more turns stay loops. */
export const MOST_TURNS = 32

/** Statements and operations of all turns. */
const LARGEST = 512

/** Those of one turn in a loop that the engine does not unroll. */
const LONG_TURN = 16

/** The turns to be written out; undefined where the loop stays one. `accesses`: those that were checked before it. */
export function fewTurns({ few, body }: InnerLoop, accesses: ReadonlyMap<object, Access>): FewTurns | undefined {
  const size = sizeOf(body)
  if (few === undefined || few.values.length * size > LARGEST) return undefined
  return size >= LONG_TURN || accessesOf(body).some(({ node }) => !accesses.has(node)) ? few : undefined
}

/** The turns one after another. `after` ends each. */
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
