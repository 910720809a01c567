/**
 * How many groups a table will have, told from its first partitions, so that what memory will not hold is not tried to the end.
 *
 *     partition                   1      2
 *     its groups                  120    120
 *     of those, seen before       -      6       so that 120 are about 6 in 120 of all
 *     groups expected             -      2400    or as many as come if every partition brings as many new ones as this one
 *
 * The first is the estimate of Lincoln and Petersen, by which animals are counted that are caught and marked. Groups of which some
 * have more rows than others are rather more than that.
 */
export interface GroupsSeen {
  /** So far, and how many of them the last partition has brought. */
  readonly groups: number
  readonly fresh: number
  /** Groups of the last partition. */
  readonly last: number
  /** Partitions that there have been, and of how many. */
  readonly done: number
  readonly total: number
}

export function expectedGroups({ groups, fresh, last, done, total }: GroupsSeen): number {
  const atThisRate = groups + fresh * (total - done)
  const again = last - fresh
  return again === 0 ? atThisRate : Math.min(atThisRate, Math.max(groups, ((groups - fresh) * last) / again))
}

/** The bytes that groups will take, where they are clearly more than memory holds; `bytes`: those that there are. */
export function bytesBeyond(seen: GroupsSeen, bytes: number, budgetBytes: number): number | undefined {
  if (seen.done < 2) return undefined
  const expected = bytes * (expectedGroups(seen) / seen.groups)
  return expected > CLEARLY * budgetBytes ? expected : undefined
}

const CLEARLY = 1.25
