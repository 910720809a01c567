import { libraryFunction } from '../math/library/mathLibrary.ts'

/** Returns the function that a kernel imports by a name of `scalars.ts`: ToInt32, `%`, or a built-in function, of the library's own code where that has its bits. */
export function functionOfNumbers(name: string): (...args: number[]) => number {
  if (name === 'int32') return (value) => (value as number) | 0
  const source = name.slice(0, name.lastIndexOf('/'))
  const own = libraryFunction(source)
  if (own !== undefined) return own
  if (source === '%') return (a, b) => (a as number) % (b as number)
  const [object, property] = source.split('.') as [string, string] // Math.exp, Date.UTC
  const owner = { Math, Date }[object] as unknown as Record<string, (...args: number[]) => number>
  return owner[property] as (...args: number[]) => number
}
