/** Ways to cut and place a run: elements per partition, on the caller's thread or in workers. */
import fc from 'fast-check'

export interface Placement {
  readonly partitionRows: number
  /** Inputs smaller than this run on the caller's thread. */
  readonly smallRows: number
  readonly where: 'inline' | 'threads'
}

/** One run in ten in threads: they are told apart from the caller's thread by what travels, not by what is computed. */
export const placement: fc.Arbitrary<Placement> = fc.record({
  partitionRows: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constant(65_536)),
  smallRows: fc.constantFrom(0, 0, 20_000),
  where: fc.oneof({ weight: 9, arbitrary: fc.constant('inline' as const) }, { weight: 1, arbitrary: fc.constant('threads' as const) }),
})
