/** The number of files that are opened at the same time: most of it is waiting, where they lie behind an address. */
export const OPENED_AT_ONCE: number = 16

/** Asks about each item, so many at the same time; answers come in the order of the items. The first that fails is thrown, and ends the asking. */
export async function inGroups<T, R>(items: readonly T[], width: number, ask: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = []
  for (let from = 0; from < items.length; from += width) {
    const asked = await Promise.allSettled(items.slice(from, from + width).map(ask))
    for (const one of asked) {
      if (one.status === 'rejected') throw one.reason
      answers.push(one.value)
    }
  }
  return answers
}
