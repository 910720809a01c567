/**
 * What the corpus is lowered for, and its IRs as text, one per function.
 */
import type { LowerContext } from '../../src/planner/function/lower/context.ts'
import { lowerFunction } from '../../src/planner/function/userFunction.ts'
import { type CanonicalForm, canonicalIr } from './canonicalIr.ts'

type AnyFunction = (...args: never[]) => unknown
export interface Corpus {
  readonly rows: Readonly<Record<string, AnyFunction>>
  readonly loops: Readonly<Record<string, AnyFunction>>
  readonly ranges: Readonly<Record<string, AnyFunction>>
}

const ROW: LowerContext = {
  kind: 'row',
  method: 'map',
  inputs: [
    {
      kind: 'row',
      fields: [
        { name: 'id', type: { kind: 'i32' }, nullable: false },
        { name: 'shop', type: { kind: 'utf8' }, nullable: false },
        { name: 'day', type: { kind: 'utf8' }, nullable: true },
        { name: 'price', type: { kind: 'f64' }, nullable: false },
        { name: 'quantity', type: { kind: 'i32' }, nullable: true },
        { name: 'at', type: { kind: 'timestamp', unit: 'ms' }, nullable: false },
      ],
    },
  ],
  key: { argument: 1, rank: 1 },
}
const env = { W: { kind: 'array' }, H: { kind: 'array' }, loss: { kind: 'accumulator' }, rng: { kind: 'rng' } } as const
const LOOP: LowerContext = {
  kind: 'loop',
  isRange: false,
  rank: 2,
  overElement: { kind: 'scalar', type: { kind: 'f64' }, nullable: false },
  env,
}
const RANGE: LowerContext = { kind: 'loop', isRange: true, rank: 2, env }

/** The canonical IR of each function as text, or why it was refused. */
export function loweredCorpus(corpus: Corpus, form: CanonicalForm): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [group, context] of [
    ['rows', ROW],
    ['loops', LOOP],
    ['ranges', RANGE],
  ] as const) {
    for (const [name, f] of Object.entries(corpus[group])) {
      const { fn } = lowerFunction(f, context)
      const refused = fn.refusals.map((one) => `${one.message} ${one.span?.text ?? ''}`).join('\n')
      result[`${group}.${name}`] = fn.ir === undefined ? `refused: ${refused}` : JSON.stringify(canonicalIr(fn.ir, form), null, 1)
    }
  }
  return result
}
