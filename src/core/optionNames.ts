/**
 * Options that nobody knows: a misspelt one would be ignored, and the program run without what it asks for.
 */
import { PlanError } from './errors.ts'
import { nearestNames } from './nearestNames.ts'

/** Throws PlanError for an option that is none of `known`. */
export function checkOptionNames(method: string, options: object, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const near = nearestNames(name, known).map((one) => `"${one}"`)
    const guess = near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
    const all = known.length === 0 ? 'It takes none.' : `Its options are ${known.join(', ')}.`
    throw new PlanError(`${method} has no option "${name}".${guess} ${all}`)
  }
}
