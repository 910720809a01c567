/** The program of the thread of links as text, in place of `exec/gang/links/linkProgram.ts`; loaded when a gang is asked for. */

export async function linkProgram(): Promise<string | URL> {
  return (await import('./linkText.ts')).linkText
}
