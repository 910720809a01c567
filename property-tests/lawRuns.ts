/**
 * How many cases a law tries: `LAWS=long` ten times as many, `LAWS=short` a tenth, `LAWS=250` that many; otherwise the
 * standard, which finds what a hundred cases miss one time in four.
 */
export function lawRuns(standard: number = 1_000): number {
  const asked = process.env.LAWS
  if (asked === undefined || asked === '') return standard
  if (asked === 'long') return standard * 10
  if (asked === 'short') return Math.ceil(standard / 10)
  const count = Number(asked)
  if (!Number.isInteger(count) || count < 1) throw new Error(`LAWS is ${asked}. It is long, short, or a number of cases.`)
  return count
}

/** The runs and the seed of a file's laws, printed so that a red run can be repeated with SEED. */
export function announcedRun(file: string, standard?: number): { readonly numRuns: number; readonly seed: number } {
  const numRuns = lawRuns(standard)
  const seed = process.env.SEED === undefined ? Date.now() % 2 ** 31 : Number(process.env.SEED)
  console.log(`${file}: SEED=${seed}, ${numRuns} runs a law`)
  return { numRuns, seed }
}
