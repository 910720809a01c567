/** Writes a conflict as a sentence about two iterations: "(1, 5) writes W[1, :] which (1, 9) reads". */
import type { Key } from '../../../core/arrays/keys.ts'
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Access } from '../accesses/accesses.ts'
import { atIteration, elementText, symbolically } from '../accesses/accessText.ts'
import type { Conflict } from '../dependence/dependence.ts'

const VERBS = {
  read: { does: 'reads', may: 'may read' },
  write: { does: 'writes', may: 'may write' },
  add: { does: 'adds to', may: 'may add to' },
} as const

export function conflictSentence(spec: LoopSpec, conflict: Conflict, names: readonly string[]): string {
  const { from, to, witness, decided, assumed } = conflict
  const verb = (access: Access) => VERBS[access.mode][decided ? 'does' : 'may']
  if (witness !== undefined) {
    const [earlier, later] = witness
    const element = elementText(spec, from, atIteration(earlier, names))
    const again = from.mode === to.mode ? ' too' : ''
    return `${keyText(earlier)} ${verb(from)} ${element} which ${keyText(later)} ${verb(to)}${again}`
  }
  const elements = [from, to].map((access) => elementText(spec, access, symbolically(names)))
  const both = elements[0] === elements[1] ? `${elements[0]}` : `${elements[0]} and ${elements[1]}`
  const why = assumed ? 'the exact test was given up, so they are taken to meet' : 'only the data can tell'
  return `${both} can be one element in different iterations: ${why}`
}

/** Prints a key as `(1, 5)`, or as `iteration 1` where there is one axis. */
export function keyText(key: Key): string {
  return key.length === 1 ? `iteration ${key[0]}` : `(${key.join(', ')})`
}
