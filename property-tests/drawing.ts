/** Numbers that fast-check has drawn, as choices: what a law's generator of texts asks one after another. */
export interface Drawing {
  /** From 0, below `n`. */
  readonly below: (n: number) => number
  readonly of: <T>(items: readonly T[]) => T
  /** The text, whose kind is noted in `used`. */
  readonly use: (kind: string, text: string) => string
  readonly used: Set<string>
}

/** Choices that shrink with the list. */
export function drawing(numbers: readonly number[]): Drawing {
  let at = 0
  const below = (n: number): number => (numbers[at++ % numbers.length] as number) % n
  const used = new Set<string>()
  const use = (kind: string, text: string): string => {
    used.add(kind)
    return text
  }
  return { below, of: (items) => items[below(items.length)] as (typeof items)[number], use, used }
}
