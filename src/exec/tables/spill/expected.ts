/**
 * What will come of a table, told from its first partitions, so that what memory will not hold is not tried to the end. It is a
 * guess: where it is wrong, more is spilled than had to be, or tried in vain as if nobody had guessed.
 */

/** Partitions that there have been, and of how many. */
export interface Progress {
  readonly done: number
  readonly total: number
}

/** Groups so far, how many the last partition had, and how many of those nobody had seen before. */
export interface GroupsSeen extends Progress {
  readonly groups: number
  readonly last: number
  readonly fresh: number
}

/**
 * How many groups there will be:
 *
 *     partition                   1      2
 *     its groups                  120    120
 *     of those, seen before       -      6       so that 120 are about 6 in 120 of all
 *     groups expected             -      2400    or as many as come if every partition brings as many new ones as this one
 *
 * The first is the estimate of Lincoln and Petersen, by which animals are counted that are caught and marked. Where some groups
 * have more rows than others there are rather more than that.
 */
export function expectedGroups({ groups, last, fresh, done, total }: GroupsSeen): number {
  const atThisRate = groups + fresh * (total - done)
  const again = last - fresh
  return again === 0 ? atThisRate : Math.min(atThisRate, Math.max(groups, ((groups - fresh) * last) / again))
}

/** The bytes that all groups will take, where they are clearly more than memory holds; `bytes`: those that there are. */
export function groupsBeyond(seen: GroupsSeen, bytes: number, budgetBytes: number): number | undefined {
  if (seen.done < 2) return undefined
  const expected = bytes * (expectedGroups(seen) / seen.groups)
  return expected > 1.25 * budgetBytes ? expected : undefined
}

/** The same of what partitions give that is kept as it comes: first ones may have more than their share. */
export function partitionsBeyond({ done, total }: Progress, bytes: number, budgetBytes: number): number | undefined {
  const expected = (bytes / done) * total
  return done > 3 && expected > 2 * budgetBytes ? expected : undefined
}
