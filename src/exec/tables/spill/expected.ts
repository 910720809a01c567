/**
 * Estimates from the first partitions of a table how much memory all of it will need, so that an attempt that must fail is given up early.
 * Where the estimate is wrong, more is spilled than necessary, or the attempt fails late.
 */

/** The number of partitions done, and of all. */
export interface Progress {
  readonly done: number
  readonly total: number
}

/** The number of groups so far, of the last partition's groups, and of those among these that are new. */
export interface GroupsSeen extends Progress {
  readonly groups: number
  readonly last: number
  readonly fresh: number
}

/**
 * The expected number of groups of the whole table:
 *
 *     partition                   1      2
 *     its groups                  120    120
 *     of those, seen before       -      6       so that 120 are about 6 in 120 of all
 *     groups expected             -      2400    or as many as come if every partition brings as many new ones as this one
 *
 * The first is the estimate of Lincoln and Petersen, which counts animals by capture and recapture. It is too low where some groups
 * have more rows than others.
 */
export function expectedGroups({ groups, last, fresh, done, total }: GroupsSeen): number {
  const atThisRate = groups + fresh * (total - done)
  const again = last - fresh
  return again === 0 ? atThisRate : Math.min(atThisRate, Math.max(groups, ((groups - fresh) * last) / again))
}

/** The bytes that all groups are expected to take, from the `bytes` so far; undefined where memory may hold them, or it is too early to tell. */
export function groupsBeyond(seen: GroupsSeen, bytes: number, budgetBytes: number): number | undefined {
  if (seen.done < 2) return undefined
  const expected = bytes * (expectedGroups(seen) / seen.groups)
  return expected > 1.25 * budgetBytes ? expected : undefined
}

/** The bytes that all partitions' results are expected to take, as `groupsBeyond`; more cautious, as the first ones may be larger than others. */
export function partitionsBeyond({ done, total }: Progress, bytes: number, budgetBytes: number): number | undefined {
  const expected = (bytes / done) * total
  return done > 3 && expected > 2 * budgetBytes ? expected : undefined
}
