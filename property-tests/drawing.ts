/** Numbers that fast-check has drawn, as choices: what a law's generator of texts asks one after another. */
export interface Drawing {
  /** From 0, below `n`. */
  readonly below: (n: number) => number
  readonly of: <T>(items: readonly T[]) => T
}

/** Choices that shrink with the list. */
export function drawing(numbers: readonly number[]): Drawing {
  let at = 0
  const below = (n: number): number => (numbers[at++ % numbers.length] as number) % n
  return { below, of: (items) => items[below(items.length)] as (typeof items)[number] }
}
